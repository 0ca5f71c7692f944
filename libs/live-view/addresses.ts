/** The addresses of the live picture; all are for GET. This module runs in browsers too. */

/**
 * This address answers with server-sent events: one `snapshot`, then a `delta` each second. A reader that was too slow
 * gets a `snapshot` again.
 */
export const streamAddress = (view: ViewName) => `${LIVE}stream?view=${encodeURIComponent(view)}`

/** Each address returns the same view once, as JSON: a `Snapshot`. */
export const LIVE_ADDRESSES = {
  now: '/live/v1/cluster',
  workers: '/live/v1/workers',
  requests: '/live/v1/requests',
} as const

/** The model's id, percent-encoded, follows this prefix. */
export const MODELS = '/live/v1/models/'

const LIVE = '/live/v1/'

export type ViewName = 'now' | 'workers' | 'requests' | `model:${string}`

/** Returns null for a text that names no view. */
export function parseViewName(text: string): ViewName | null {
  if (text === 'now' || text === 'workers' || text === 'requests') return text
  const [, model] = /^model:(.{1,200})$/.exec(text) ?? []
  return model === undefined ? null : `model:${model}`
}

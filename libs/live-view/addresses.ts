/** The addresses of the live picture; GET all. This module runs in browsers too. */

/** Server-sent events: one `snapshot`, then a `delta` each second. Once more a `snapshot` for a reader that was slow. */
export const streamAddress = (view: ViewName) => `${LIVE}stream?view=${encodeURIComponent(view)}`

/** The same views once, as JSON: a `Snapshot` each. */
export const LIVE_ADDRESSES = {
  now: '/live/v1/cluster',
  workers: '/live/v1/workers',
  requests: '/live/v1/requests',
} as const

/** Followed by the model's id, percent-encoded. */
export const MODELS = '/live/v1/models/'

const LIVE = '/live/v1/'

export type ViewName = 'now' | 'workers' | 'requests' | `model:${string}`

/** Null for a name of no view. */
export function parseViewName(text: string): ViewName | null {
  if (text === 'now' || text === 'workers' || text === 'requests') return text
  const [, model] = /^model:(.{1,200})$/.exec(text) ?? []
  return model === undefined ? null : `model:${model}`
}

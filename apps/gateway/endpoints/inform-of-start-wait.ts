import type { ServerResponse } from 'node:http'
import type { AnnouncedWait } from '../generation/request/generation-call.ts'

/** Sets the header that names the wait which the service grants (RFC 7240, section 3). */
export function setPreferenceApplied(
  response: ServerResponse,
  { limitS }: Pick<AnnouncedWait, 'limitS'>,
): void {
  response.setHeader('preference-applied', `wait=${limitS}`)
}

/** Returns the comment of a stream that waits for its model; null if no start is predicted any more. */
export function toStartComment({ expectedMs }: Pick<AnnouncedWait, 'expectedMs'>): string | null {
  const etaMs = expectedMs()
  if (etaMs === null) return null
  return `: the model is starting, a worker is expected in about ${Math.max(1, Math.ceil(etaMs / 1_000))} s\n\n`
}

/**
 * For how long a generation waited until `nowMs` (Unix ms), by the time in its id, a UUIDv7 that its gateway made; null
 * where the id is none. The gateway's clock and this machine's are compared, so it is as exact as these agree; never
 * negative. RFC 9562, section 5.7.
 */
export function toQueueWaitMs(id: string, nowMs: number): number | null {
  if (!UUID_V7.test(id)) return null
  const madeMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  return Math.max(0, nowMs - madeMs)
}

const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i

import type { RunningGeneration } from './running-generation.ts'

/** A poisonous prompt kills its engine while it is read, or just after. */
const NEAR_FIRST_TOKEN_MS = 2_000

/**
 * The run that may have killed an engine, of those that it ran; null when none can have. Candidates have no token, over
 * all epochs, or had their first one shortly before the engine's last: one without a token comes first, then the newest.
 * One suspect an engine: the others continue without a stain, and a poisonous request is found by its second engine.
 *
 * `runs` are in the order of their claims. `lastTokenMs` is the last sign of life of the engine: a hang is noticed much
 * later than it began.
 */
export function pickSuspect<Run extends Pick<RunningGeneration, 'earlierIds' | 'output'>>(
  runs: readonly Run[],
  lastTokenMs: number,
): Run | null {
  const unread = runs.filter(({ earlierIds }) => earlierIds.length === 0)
  const silent = unread.findLast(({ output }) => output.firstMs === null)
  if (silent !== undefined) return silent
  const isNew = ({ output }: Run) => (output.firstMs ?? 0) >= lastTokenMs - NEAR_FIRST_TOKEN_MS
  return unread.findLast(isNew) ?? null
}

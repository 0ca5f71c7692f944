import type { OutputParser } from './parse-output.ts'

/**
 * Brings a new parser to the state of a parser that has read these ids, so that the new parser continues in the middle
 * of a character, a stop string, a thought or a call. The events of these ids were sent before, so they are dropped.
 *
 * Returns whether the output is over. It is over in three cases:
 * - A stop string is complete.
 * - The only allowed call is complete.
 * - The last id is an end id. Then only the engine's report of the end was lost.
 *
 * No engine may continue an output that is over: the engine would begin something new after the end.
 */
export function replayOutput(
  parser: OutputParser,
  { ids, endIds }: { ids: ArrayLike<number>; endIds: readonly number[] },
): boolean {
  const { stopped } = parser.push(ids)
  const last = ids[ids.length - 1]
  return stopped || (last !== undefined && endIds.includes(last))
}

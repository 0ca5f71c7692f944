import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'

export const TURN_START = '<|im_start|>'
const ASSISTANT_HEADER = `${TURN_START}assistant\n`

/**
 * Splits a prompt that ends inside an assistant turn: `before` is the prompt before that turn, `written` the part of
 * the turn after its header. Returns null for any other prompt.
 */
export type SplitPrompt = (ids: Uint32Array) => {
  readonly before: Uint32Array
  readonly written: Uint32Array
} | null

export async function createSplitPrompt(
  tokenizer: Pick<Tokenizer, 'encode' | 'tokenId'>,
): Promise<SplitPrompt> {
  const header = await tokenizer.encode(ASSISTANT_HEADER)
  const turnStart = tokenizer.tokenId(TURN_START)
  return (ids) => {
    const start = turnStart === null ? -1 : ids.lastIndexOf(turnStart)
    if (start < 0 || !header.every((id, i) => ids[start + i] === id)) return null
    return { before: ids.subarray(0, start), written: ids.subarray(start + header.length) }
  }
}

/**
 * Returns the length of the longest beginning of `tokens` that is at the end of `written`. An assistant turn may begin
 * with text of the caller, after which the simulator writes `tokens`. When such a turn is continued, the length is the
 * number of these tokens that the simulator has already written.
 */
export function overlap(written: Uint32Array, tokens: readonly number[]): number {
  for (let length = Math.min(written.length, tokens.length); length > 0; length--) {
    const from = written.length - length
    if (written.subarray(from).every((id, i) => id === tokens[i])) return length
  }
  return 0
}

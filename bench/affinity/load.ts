export type Load = { readonly conversations: number; readonly turns: number; readonly workers: number }

/** The length of every answer, end token included: as in an agent's turns, nearly all of the work is the prompt. */
export const ANSWER_TOKENS = 4
const BLOCK_TOKENS = 16
/** An engine's cache, as a multiple of its share of all conversations. */
const CACHE_SHARE = 1.5

/** Returns an engine on which prompts take most of the time, and on which a third of all conversations fit in the cache. */
export function toEngine({
  conversations,
  workers,
  wholeTokens,
}: Omit<Load, 'turns'> & { wholeTokens: number }) {
  const tokens = (CACHE_SHARE * conversations * wholeTokens) / workers
  return {
    maxNumSeqs: Math.ceil((1.4 * conversations) / workers),
    maxModelLen: 4_096,
    kvBlocks: Math.max(256, Math.ceil(tokens / BLOCK_TOKENS)),
    blockSize: BLOCK_TOKENS,
    prefillTokensPerS: 1_200,
    behaviour: { type: 'writes', tokens: ANSWER_TOKENS },
  }
}

import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { Behaviour } from '../behaviour.ts'
import { createSplitPrompt, overlap } from './open-turn.ts'
import { encodeWritten, FILLER, UNMERGED, type ScriptWriter } from './write-script.ts'

/**
 * Returns the writer of a behaviour's fixed answer: every call gets the same answer. Returns null if the persona writes
 * the behaviour's answers. If a prompt ends in the middle of the fixed answer, the writer continues it there.
 */
export async function createFixedWriter(options: {
  behaviour: Behaviour
  tokenizer: Tokenizer
  /** The end tokens, the primary end token first. */
  endIds: readonly number[]
}): Promise<ScriptWriter | null> {
  const { behaviour, tokenizer, endIds } = options
  const endId = endIds[0] ?? 0
  const filler = await encodeWritten(FILLER, options)
  const cyclic = (index: number) => filler[index % filler.length] ?? endId

  async function writeTokens(): Promise<readonly number[] | null> {
    switch (behaviour.type) {
      case 'persona':
      case 'waits':
        return null
      case 'writes':
        return Array.from({ length: behaviour.tokens - 1 }, (_, i) => cyclic(i))
      case 'fails-before-text':
        return Array.from((await tokenizer.encode(UNMERGED)).subarray(0, 1))
      case 'fails-in-text':
        return await encodeWritten(BROKEN_OFF, options)
    }
  }

  const tokens = await writeTokens()
  if (tokens === null) return null
  const split = await createSplitPrompt(tokenizer)
  return ({ promptIds }) => {
    const start = overlap(split(promptIds)?.written ?? new Uint32Array(0), tokens)
    return Promise.resolve({
      at: (index) => tokens[start + index] ?? null,
      filler: (index) => cyclic(start + index),
      endId: () => endId,
      // The caller's sampling parameters must not change the answer.
      constrained: true,
    })
  }
}

const BROKEN_OFF = 'These words reach you, and then the engine fails in the middle of the'

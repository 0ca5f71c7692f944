import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

/**
 * What each tenant has sent to one engine lately, as hashes of the blocks of its prompts and outputs. The engine's count
 * of cached tokens is believed up to that: not every servicer keeps the caches of tenants apart (see `toSaltMessage`), and
 * where it does not, the count would show what others have sent.
 */
export type SentPrefixes = {
  /**
   * Notes a prompt that is sent now. `tenant` null: all share what is cached, and nothing is noted. Takes about 1 µs for a
   * block; a long prompt is noted in several turns of the event loop.
   */
  readonly note: (tenant: string | null, promptIds: Uint32Array) => Promise<SentPrefix>
}

export type SentPrefix = {
  /** How many tokens at the beginning of the prompt the tenant had sent, or was sent, before. */
  readonly knownTokens: number
  /** The engine has given these after the prompt and the output so far; it caches them as well. */
  readonly push: (ids: readonly number[] | Uint32Array) => void
}

/** The smallest block in which engines cache by default. A larger block's count is never above that of its parts. */
export const BLOCK_TOKENS = 16

/** Of all tenants together: two million tokens, in about 10 MB. The longest unused are forgotten first. */
const MOST_BLOCKS = 131_072

/** About 2 ms of work. */
const BLOCKS_AT_ONCE = 2_048

export function createSentPrefixes({ mostBlocks = MOST_BLOCKS } = {}): SentPrefixes {
  const sent = new LRUCache<number, true>({ max: mostBlocks })

  return {
    async note(tenant, promptIds) {
      if (tenant === null) return ALL_KNOWN
      const chain = createChain(tenant)
      const keys: number[] = []
      for (let end = BLOCK_TOKENS; end <= promptIds.length; end += BLOCK_TOKENS) {
        if (keys.length % BLOCKS_AT_ONCE === BLOCKS_AT_ONCE - 1) await nextTurn()
        keys.push(chain.next(promptIds.subarray(end - BLOCK_TOKENS, end)))
      }
      const unknown = keys.findIndex((key) => !sent.has(key))
      // From the end, so that a prompt's end is forgotten before its beginning, without which the end is useless.
      for (const key of keys.toReversed()) sent.set(key, true)
      const block = new Uint32Array(BLOCK_TOKENS)
      let filled = promptIds.length % BLOCK_TOKENS
      block.set(promptIds.subarray(promptIds.length - filled))
      return {
        knownTokens: (unknown === -1 ? keys.length : unknown) * BLOCK_TOKENS,
        push(ids) {
          for (const id of ids) {
            block[filled] = id
            filled += 1
            if (filled < BLOCK_TOKENS) continue
            filled = 0
            sent.set(chain.next(block), true)
          }
        },
      }
    },
  }
}

const ALL_KNOWN: SentPrefix = { knownTokens: Number.POSITIVE_INFINITY, push() {} }

const DIGEST_BYTES = 32
/** Two blocks of one tenant have the same key once in 10¹⁴ pairs; nobody can choose them, as the tenant's name is secret. */
const KEY_BYTES = 6

/** Keys of the blocks of one prompt, each of which stands for all ids up to its end. */
function createChain(tenant: string): { next(block: Uint32Array): number } {
  const bytes = new Uint8Array(DIGEST_BYTES + BLOCK_TOKENS * Uint32Array.BYTES_PER_ELEMENT)
  const ids = new Uint32Array(bytes.buffer, DIGEST_BYTES)
  bytes.set(hash('sha256', tenant, 'buffer'))
  return {
    next(block) {
      ids.set(block)
      const digest = hash('sha256', bytes, 'buffer')
      bytes.set(digest)
      return digest.readUIntLE(0, KEY_BYTES)
    },
  }
}

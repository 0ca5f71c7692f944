import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

/**
 * The prompts and outputs that each tenant has lately exchanged with one engine, in blocks. They limit the number of
 * cached tokens that is reported for a prompt. Not every servicer keeps the caches of tenants apart (see
 * `toSaltMessage`); without the limit, the number would show what other tenants have sent.
 */
export type SentPrefixes = {
  /**
   * Notes a prompt that is sent to the engine now. If `tenant` is null, all prompts share the engine's cache. A long
   * prompt is noted in several iterations of the event loop.
   */
  readonly note: (tenant: string | null, promptIds: Uint32Array) => Promise<SentPrefix>
  /**
   * Returns how many tokens at the beginning of the prompt were sent or received before, and so are probably in the
   * engine's cache. Notes nothing.
   */
  readonly countKnown: (tenant: string | null, promptIds: Uint32Array) => Promise<number>
}

export type SentPrefix = {
  /**
   * How many tokens at the beginning of the prompt the tenant had sent or received before. Infinity if all prompts share
   * the engine's cache.
   */
  readonly knownTokens: number
  /** Notes output that follows the prompt and the output so far: the engine caches it as well. */
  readonly push: (ids: readonly number[] | Uint32Array) => void
}

/**
 * The number of tokens in the smallest blocks that engines use by default for their cache. An engine with larger blocks
 * never reports more cached tokens than an engine with these blocks.
 */
export const BLOCK_TOKENS = 16

/** For all tenants together: two million tokens, in about 20 MB. The least recently used blocks are forgotten first. */
const MOST_BLOCKS = 131_072

/** The most blocks that one iteration of the event loop handles: one to two milliseconds of work. */
const BLOCKS_AT_ONCE = 1_024

export function createSentPrefixes({ mostBlocks = MOST_BLOCKS } = {}): SentPrefixes {
  /**
   * Maps a block to its number. The key is the block's ids with the number of the block before it, or with the tenant's
   * name for a first block. So a number stands for all ids up to the block's end, and only the same ids of the same
   * tenant lead to it. A block whose predecessor was forgotten is never found again.
   */
  const numbers = new LRUCache<string, number>({ max: mostBlocks })
  let lastNumber = 0

  /** Returns the block's number, and whether it was known. */
  function enter(key: string): { number: number; known: boolean } {
    const found = numbers.peek(key)
    if (found !== undefined) return { number: found, known: true }
    lastNumber += 1
    numbers.set(key, lastNumber)
    return { number: lastNumber, known: false }
  }

  return {
    async note(tenant, promptIds) {
      const chain = createChain(tenant ?? ALL_TENANTS)
      const keys: string[] = []
      let knownBlocks = 0
      for (let end = BLOCK_TOKENS; end <= promptIds.length; end += BLOCK_TOKENS) {
        if (keys.length % BLOCKS_AT_ONCE === BLOCKS_AT_ONCE - 1) await nextTurn()
        const key = chain.toKey(promptIds.subarray(end - BLOCK_TOKENS, end))
        const { number, known } = enter(key)
        if (known && knownBlocks === keys.length) knownBlocks += 1
        keys.push(key)
        chain.follow(number)
      }
      // Each `get` marks a block as used. The last block of the prompt is marked first, and is therefore forgotten
      // first: a block is useless without the blocks before it.
      for (const key of keys.toReversed()) numbers.get(key)
      const block = new Uint32Array(BLOCK_TOKENS)
      let filled = promptIds.length % BLOCK_TOKENS
      block.set(promptIds.subarray(promptIds.length - filled))
      return {
        knownTokens: tenant === null ? Number.POSITIVE_INFINITY : knownBlocks * BLOCK_TOKENS,
        push(ids) {
          for (const id of ids) {
            block[filled] = id
            filled += 1
            if (filled < BLOCK_TOKENS) continue
            filled = 0
            chain.follow(enter(chain.toKey(block)).number)
          }
        },
      }
    },
    async countKnown(tenant, promptIds) {
      const chain = createChain(tenant ?? ALL_TENANTS)
      let blocks = 0
      for (let end = BLOCK_TOKENS; end <= promptIds.length; end += BLOCK_TOKENS) {
        if (blocks % BLOCKS_AT_ONCE === BLOCKS_AT_ONCE - 1) await nextTurn()
        const number = numbers.peek(chain.toKey(promptIds.subarray(end - BLOCK_TOKENS, end)))
        if (number === undefined) break
        blocks += 1
        chain.follow(number)
      }
      return blocks * BLOCK_TOKENS
    },
  }
}

/** The name of all tenants together. No tenant has this name. */
const ALL_TENANTS = ''

/** The keys of one prompt's blocks, one after the other. */
function createChain(tenant: string) {
  const bytes = Buffer.alloc(Float64Array.BYTES_PER_ELEMENT + BLOCK_TOKENS * Uint32Array.BYTES_PER_ELEMENT)
  const parent = new Float64Array(bytes.buffer, bytes.byteOffset, 1)
  const ids = new Uint32Array(bytes.buffer, bytes.byteOffset + Float64Array.BYTES_PER_ELEMENT, BLOCK_TOKENS)
  let isFirst = true
  return {
    toKey(block: Uint32Array): string {
      ids.set(block)
      // The key of a first block also contains the tenant's name. So it is longer than the key of every later block,
      // and equal to none of them.
      return isFirst ? tenant + bytes.toString('latin1') : bytes.toString('latin1')
    },
    follow(number: number): void {
      isFirst = false
      parent[0] = number
    },
  }
}

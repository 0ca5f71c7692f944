/** One block of KV cache. `key` is set while a later prompt can find its content. */
export type Block = { references: number; key: string | null; content: number }

/** The content before a prompt's first block, if the prompt has no salt. */
const NO_CONTENT = 0

/**
 * A parent stands for all content before a block. Each chain of contents has a number (see `createBlockPool`), and the
 * parent is the number of the chain that ends before the block. For the first block of a prompt with a salt, the parent
 * is the salt as `toRoot` writes it.
 */
export type Parent = number | string

/** The parent of a prompt's first block. Prompts of different salts share no block. */
export function toRoot(salt: string | null): Parent {
  return salt === null ? NO_CONTENT : JSON.stringify(salt)
}

export type BlockPool = {
  /**
   * Returns the cached full blocks of the beginning of `ids`: as many blocks as are cached without a gap, with at most
   * `limit` tokens together. `root` is the parent of the first block. Does not take the blocks.
   */
  match(ids: ArrayLike<number>, options: { readonly root: Parent; readonly limit: number }): Block[]
  /** Returns how many blocks could be allocated if `hits` were taken first. */
  freeBeside(hits: readonly Block[]): number
  /** Adds a reader to blocks that `match` found. */
  take(blocks: readonly Block[]): void
  /** Takes `count` empty blocks, the longest unused first. If there are fewer, returns null and changes nothing. */
  allocate(count: number): Block[] | null
  /** Lets later prompts find a full block. Returns its content, the `parent` of the next block. */
  publish(block: Block, parent: Parent, ids: readonly number[]): number
  release(blocks: readonly Block[]): void
  /** Forgets all contents. While a block is in use, returns false and changes nothing. */
  flush(): boolean
  /** Blocks in use by a sequence; cached blocks that can be evicted do not count. */
  used(): number
  readonly total: number
  readonly blockSize: number
}

/**
 * vLLM's KV cache: blocks of a fixed number of tokens. A full block is found again by the chain of contents from the
 * beginning of the prompt to the end of this block. Freed blocks are kept until their space is needed. Then the block
 * that was used least recently is evicted first.
 *
 * Each chain of contents has a number. A chain consists of a shorter chain, its parent, and one more block. Each new pair
 * of a parent's number and the block's token ids gets the next unused number. So two different chains never have the
 * same number. With hashes in place of numbers, two different chains could have the same hash.
 */
export function createBlockPool(options: { blocks: number; blockSize: number }): BlockPool {
  const { blocks: total, blockSize } = options
  const found = new Map<string, Block>()
  /** Unused blocks in the order of eviction: a Set iterates in the order of insertion. */
  const free = new Set<Block>()
  let lastContent = NO_CONTENT
  for (let i = 0; i < total; i++) free.add({ references: 0, key: null, content: NO_CONTENT })

  function forget(block: Block): void {
    if (block.key !== null) found.delete(block.key)
    block.key = null
    block.content = NO_CONTENT
  }

  return {
    total,
    blockSize,
    match(ids, { root, limit }) {
      const hits: Block[] = []
      let content = root
      for (let end = blockSize; end <= limit; end += blockSize) {
        const block = found.get(contentKey(content, slice(ids, end - blockSize, end)))
        if (block === undefined) break
        hits.push(block)
        content = block.content
      }
      return hits
    },
    freeBeside: (hits) =>
      free.size - hits.reduce((count, block) => count + (block.references === 0 ? 1 : 0), 0),
    take(blocks) {
      for (const block of blocks) {
        block.references += 1
        free.delete(block)
      }
    },
    allocate(count) {
      if (count > free.size) return null
      const taken: Block[] = []
      for (const block of free) {
        if (taken.length === count) break
        taken.push(block)
      }
      for (const block of taken) {
        free.delete(block)
        forget(block)
        block.references = 1
      }
      return taken
    },
    publish(block, parent, ids) {
      const key = contentKey(parent, ids)
      const known = found.get(key)
      if (known !== undefined) return known.content
      lastContent += 1
      block.key = key
      block.content = lastContent
      found.set(key, block)
      return lastContent
    },
    release(blocks) {
      // The last block is freed first, so that it is also evicted first: a block is useless without the blocks before
      // it.
      for (const block of blocks.toReversed()) {
        block.references -= 1
        if (block.references === 0) free.add(block)
      }
    },
    flush() {
      if (free.size < total) return false
      for (const block of free) forget(block)
      return true
    },
    used: () => total - free.size,
  }
}

function contentKey(parent: Parent, ids: readonly number[]): string {
  return `${parent}:${ids.join(',')}`
}

function slice(ids: ArrayLike<number>, from: number, to: number): number[] {
  const part: number[] = []
  for (let i = from; i < to; i++) part.push(ids[i] ?? -1)
  return part
}

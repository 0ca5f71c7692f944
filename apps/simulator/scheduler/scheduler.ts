import { toRoot, type Block, type BlockPool, type Parent } from './block-pool.ts'

/** The engine's work for one Generate or Embed call. */
export type Sequence = {
  readonly promptIds: ArrayLike<number>
  /** False if every position of the prompt must be computed, because an embedding reads them all. */
  readonly readsPrefixCache: boolean
  /** True if the servicer cannot decode the step with the first output, and so loses the outputs of all sequences. */
  readonly spoilsStep?: boolean
  /** Only sequences of the same salt share cached blocks; null counts as a salt. */
  readonly cacheSalt: string | null
  /**
   * Returns the next generated token. The scheduler calls `next` each time it has computed the prompt and all tokens
   * that were generated so far. `tokenId` is null for a sequence that generates no tokens.
   */
  readonly next: () => { tokenId: number | null; ended: boolean }
}

export type Output = {
  readonly sequence: Sequence
  readonly tokenId: number | null
  readonly ended: boolean
  readonly isFirst: boolean
  /** Prompt tokens that the prefix cache saved; a multiple of the block size. */
  readonly cachedTokens: number
}

export type Work = { readonly sequences: number; readonly prefillTokens: number }

/** The counts at the end of the last step, as GetLoads reports them. */
export type Load = {
  readonly running: number
  readonly waiting: number
  /** Estimated with the hit rate of the latest prompts. */
  readonly waitingUncachedTokens: number
  readonly usedTokens: number
  readonly capacityTokens: number
  /** The share of prompt tokens that the prefix cache had, over the latest prompts. */
  readonly cacheHitRate: number
}

export type Scheduler = {
  add(sequence: Sequence): void
  /** Ends a sequence without another output and frees its blocks. Returns false if it has ended or is unknown. */
  abort(sequence: Sequence): boolean
  /**
   * Completes the step in progress if it is due, and starts the next step. `nextAt` is the time at which this function
   * is to be called again; null when there is no work. A call before that time changes nothing.
   */
  step(now: number): { outputs: Output[]; nextAt: number | null }
  readonly load: () => Load
  /** Forgets the prefix cache. While a sequence runs, returns false and changes nothing. */
  flushCache(): boolean
}

type Entry = {
  readonly sequence: Sequence
  /** Prompt and output so far. */
  readonly ids: number[]
  computed: number
  /** Tokens of the step in flight. */
  scheduled: number
  blocks: Block[]
  /**
   * The number of this sequence's blocks that are published in the pool. `content` stands for the content up to the end
   * of the last of these blocks.
   */
  published: number
  content: Parent
  cachedTokens: number | null
}

/** One step's work. */
type Plan = { readonly entries: Entry[]; prefillTokens: number; budget: number }

/** The number of latest prompts in the hit rate, as in the servicer. */
const LOOKUPS = 64

/**
 * vLLM's scheduler without a model. It has one queue in order of arrival and a token budget for each step, prefers
 * running sequences to waiting ones, and computes long prompts in chunks. When the KV cache is full, the running
 * sequence that was admitted last is preempted: it releases its blocks and is computed again later. The scheduler is
 * deterministic, because `step` receives the time.
 */
export function createScheduler(options: {
  pool: BlockPool
  maxNumSeqs: number
  maxNumBatchedTokens: number
  /** How long a step with this work takes, in milliseconds. */
  durationMs: (work: Work) => number
}): Scheduler {
  const { pool, maxNumSeqs, maxNumBatchedTokens } = options
  const entries = new Map<Sequence, Entry>()
  let running: Entry[] = []
  const waiting: Entry[] = []
  let inFlight: { entries: Entry[]; endsAt: number } | null = null
  const lookups: { readonly tokens: number; readonly hits: number }[] = []
  let load = measure()

  function step(now: number) {
    if (inFlight !== null && now < inFlight.endsAt) return { outputs: [], nextAt: inFlight.endsAt }
    const outputs = inFlight === null ? [] : complete(inFlight.entries)
    const plan = schedule()
    load = measure()
    if (plan.entries.length === 0) {
      inFlight = null
      return { outputs, nextAt: null }
    }
    const durationMs = options.durationMs({
      sequences: plan.entries.length,
      prefillTokens: plan.prefillTokens,
    })
    // A late timer must not slow the engine down: the next step counts from the time at which this step was due.
    const due = inFlight !== null && now - inFlight.endsAt < durationMs ? inFlight.endsAt : now
    inFlight = { entries: plan.entries, endsAt: due + durationMs }
    return { outputs, nextAt: inFlight.endsAt }
  }

  function schedule(): Plan {
    const plan: Plan = { entries: [], prefillTokens: 0, budget: maxNumBatchedTokens }
    const preempted = scheduleRunning(plan)
    // A preempted sequence must not be overtaken by sequences that wait behind it.
    if (!preempted) admitWaiting(plan)
    return plan
  }

  function assign(plan: Plan, entry: Entry, tokens: number): void {
    entry.scheduled = tokens
    plan.budget -= tokens
    if (entry.computed < entry.sequence.promptIds.length || tokens > 1) plan.prefillTokens += tokens
    plan.entries.push(entry)
  }

  /** True if a sequence was preempted. */
  function scheduleRunning(plan: Plan): boolean {
    let preempted = false
    for (let i = 0; i < running.length && plan.budget > 0; i++) {
      const entry = running[i]
      if (entry === undefined) break
      const tokens = Math.min(entry.ids.length - entry.computed, plan.budget)
      while (running[i] === entry && !grow(entry, tokens)) {
        preempted = true
        const latest = running.pop()
        if (latest !== undefined) preempt(latest)
      }
      if (running[i] === entry) assign(plan, entry, tokens)
    }
    return preempted
  }

  function admitWaiting(plan: Plan): void {
    while (plan.budget > 0 && running.length < maxNumSeqs) {
      const entry = waiting[0]
      if (entry === undefined) break
      const tokens = admit(entry, plan.budget)
      if (tokens === 0) break
      waiting.shift()
      running.push(entry)
      assign(plan, entry, tokens)
    }
  }

  /** Gives a waiting sequence its cached and its first new blocks. Returns how many tokens it may compute. */
  function admit(entry: Entry, budget: number): number {
    // At least one token must be computed, or the model cannot generate the next token.
    const root = toRoot(entry.sequence.cacheSalt)
    const limit = entry.ids.length - 1
    const hits = entry.sequence.readsPrefixCache ? pool.match(entry.ids, { root, limit }) : []
    const cached = hits.length * pool.blockSize
    const tokens = Math.min(entry.ids.length - cached, budget)
    const wanted = Math.ceil((cached + tokens) / pool.blockSize) - hits.length
    if (wanted > pool.freeBeside(hits)) return 0
    pool.take(hits)
    entry.blocks = [...hits, ...(pool.allocate(wanted) ?? [])]
    entry.computed = cached
    entry.published = hits.length
    entry.content = hits.at(-1)?.content ?? root
    if (entry.cachedTokens === null) {
      entry.cachedTokens = cached
      lookups.push({ tokens: entry.ids.length, hits: cached })
      if (lookups.length > LOOKUPS) lookups.shift()
    }
    return tokens
  }

  function grow(entry: Entry, tokens: number): boolean {
    const wanted = Math.ceil((entry.computed + tokens) / pool.blockSize) - entry.blocks.length
    if (wanted <= 0) return true
    const blocks = pool.allocate(wanted)
    if (blocks === null) return false
    entry.blocks.push(...blocks)
    return true
  }

  function preempt(entry: Entry): void {
    pool.release(entry.blocks)
    const content = toRoot(entry.sequence.cacheSalt)
    Object.assign(entry, { blocks: [], computed: 0, scheduled: 0, published: 0, content })
    waiting.unshift(entry)
  }

  function complete(worked: readonly Entry[]): Output[] {
    const outputs: Output[] = []
    for (const entry of worked) {
      // The sequence was aborted while the step was in flight.
      if (entries.get(entry.sequence) !== entry) continue
      entry.computed += entry.scheduled
      entry.scheduled = 0
      publishFullBlocks(entry)
      if (entry.computed < entry.ids.length) continue
      const { tokenId, ended } = entry.sequence.next()
      const isFirst = entry.ids.length === entry.sequence.promptIds.length
      if (tokenId !== null) entry.ids.push(tokenId)
      if (ended) {
        entries.delete(entry.sequence)
        pool.release(entry.blocks)
      }
      outputs.push({
        sequence: entry.sequence,
        tokenId,
        ended,
        isFirst,
        cachedTokens: entry.cachedTokens ?? 0,
      })
    }
    if (outputs.some((output) => output.ended))
      running = running.filter((entry) => entries.has(entry.sequence))
    return outputs
  }

  function publishFullBlocks(entry: Entry): void {
    const { blockSize } = pool
    for (; (entry.published + 1) * blockSize <= entry.computed; entry.published += 1) {
      const block = entry.blocks[entry.published]
      if (block === undefined) return
      const from = entry.published * blockSize
      entry.content = pool.publish(block, entry.content, entry.ids.slice(from, from + blockSize))
    }
  }

  function measure(): Load {
    const looked = sum(lookups.map(({ tokens }) => tokens))
    const hitRate = looked === 0 ? 0 : sum(lookups.map(({ hits }) => hits)) / looked
    const unstarted = waiting.filter(({ cachedTokens }) => cachedTokens === null)
    return {
      running: running.length,
      waiting: waiting.length,
      waitingUncachedTokens: Math.round(sum(unstarted.map(({ ids }) => ids.length)) * (1 - hitRate)),
      usedTokens: pool.used() * pool.blockSize,
      capacityTokens: pool.total * pool.blockSize,
      cacheHitRate: hitRate,
    }
  }

  return {
    add(sequence) {
      const { promptIds } = sequence
      const ids: number[] = []
      // `Array.from` is not used, because it takes ten times as long for 100,000 ids of a typed array.
      for (let at = 0; at < promptIds.length; at++) ids.push(promptIds[at] ?? 0)
      const entry: Entry = {
        sequence,
        ids,
        computed: 0,
        scheduled: 0,
        blocks: [],
        published: 0,
        content: toRoot(sequence.cacheSalt),
        cachedTokens: null,
      }
      entries.set(sequence, entry)
      waiting.push(entry)
    },
    abort(sequence) {
      const entry = entries.get(sequence)
      if (entry === undefined) return false
      entries.delete(sequence)
      const queued = waiting.indexOf(entry)
      if (queued >= 0) waiting.splice(queued, 1)
      else running = running.filter((other) => other !== entry)
      pool.release(entry.blocks)
      entry.blocks = []
      return true
    },
    step,
    load: () => load,
    flushCache: () => pool.flush(),
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

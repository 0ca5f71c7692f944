import type { EngineConfig } from './config.ts'
import type { FaultSettings } from './faults.ts'
import { createBlockPool } from './scheduler/block-pool.ts'
import { createStepLoop } from './scheduler/run-steps.ts'
import { createScheduler, type Load, type Output, type Sequence, type Work } from './scheduler/scheduler.ts'

/** The receiver of one sequence's outputs. */
export type Listener = {
  readonly onOutput: (output: Output) => void
  readonly onDeath: () => void
}

export type EngineCore = {
  /** Adds a sequence; on a dead core `onDeath` is called at once. */
  submit(sequence: Sequence, listener: Listener): void
  /** Ends a sequence without output; does nothing if it has ended. */
  withdraw(sequence: Sequence): void
  readonly alive: () => boolean
  applyFaults(faults: FaultSettings): void
  /** Kills the core: every listener is called, and nothing runs any more. */
  die(): void
  /** The counts of the last step; a dead core keeps its last counts. */
  readonly load: () => Load
  /** Tokens generated per second over the last two seconds. */
  readonly throughput: () => number
  /** `promptTokens` counts the tokens of prompts that were computed, without cached tokens. */
  readonly totals: () => { readonly steps: number; readonly tokens: number; readonly promptTokens: number }
  flushCache(): boolean
  stop(): void
}

/** One engine core from start to death: scheduler, step loop and listeners. A restart creates a new core. */
export function createEngineCore(config: EngineConfig, onDeath: () => void): EngineCore {
  const listeners = new Map<Sequence, Listener>()
  const meter = createThroughputMeter()
  const totals = { steps: 0, tokens: 0, promptTokens: 0 }
  let slowness = 1
  let tokensToLive: number | null = null
  let alive = true
  const scheduler = createScheduler({
    pool: createBlockPool({ blocks: config.kvBlocks, blockSize: config.blockSize }),
    maxNumSeqs: config.maxNumSeqs,
    maxNumBatchedTokens: config.maxNumBatchedTokens,
    durationMs(work) {
      totals.promptTokens += work.prefillTokens
      return stepDurationMs(config, work) * slowness
    },
  })
  const loop = createStepLoop({ scheduler, onOutputs: deliver })
  const firstTokenMs = config.behaviour.type === 'waits' ? config.behaviour.firstTokenMs : 0
  /** Sequences that an engine of behaviour `waits` has not yet given to the scheduler. */
  const delayed = new Map<Sequence, NodeJS.Timeout>()

  function enter(sequence: Sequence): void {
    delayed.delete(sequence)
    scheduler.add(sequence)
    loop.wake()
  }

  function leave(sequence: Sequence): void {
    clearTimeout(delayed.get(sequence))
    delayed.delete(sequence)
    if (scheduler.abort(sequence)) loop.wake()
  }

  function stop(): void {
    loop.stop()
    for (const timer of delayed.values()) clearTimeout(timer)
    delayed.clear()
  }

  function deliver(outputs: readonly Output[]): void {
    const tokens = outputs.filter(({ tokenId }) => tokenId !== null).length
    totals.steps += 1
    totals.tokens += tokens
    meter.add(tokens)
    const isLost = outputs.some(({ sequence, isFirst }) => sequence.spoilsStep && isFirst)
    if (!isLost) pass(outputs)
    if (tokensToLive === null) return
    tokensToLive -= tokens
    if (tokensToLive <= 0) die()
  }

  function pass(outputs: readonly Output[]): void {
    for (const output of outputs) {
      const listener = listeners.get(output.sequence)
      if (output.ended) listeners.delete(output.sequence)
      listener?.onOutput(output)
    }
  }

  function die(): void {
    if (!alive) return
    alive = false
    stop()
    const affected = [...listeners.values()]
    listeners.clear()
    for (const listener of affected) listener.onDeath()
    onDeath()
  }

  return {
    submit(sequence, listener) {
      if (!alive) {
        listener.onDeath()
        return
      }
      listeners.set(sequence, listener)
      if (firstTokenMs === 0) enter(sequence)
      else delayed.set(sequence, setTimeout(enter, firstTokenMs, sequence))
    },
    withdraw(sequence) {
      listeners.delete(sequence)
      leave(sequence)
    },
    alive: () => alive,
    applyFaults(faults) {
      slowness = faults.slowness
      tokensToLive = faults.diesAfterTokens
      loop.pause(faults.hangs)
      if (faults.dead) die()
    },
    die,
    load: scheduler.load,
    throughput: meter.perSecond,
    totals: () => totals,
    flushCache: scheduler.flushCache,
    stop,
  }
}

function stepDurationMs(config: EngineConfig, work: Work): number {
  if (config.speed === 0) return 0
  const prefillMs = (work.prefillTokens / config.prefillTokensPerS) * 1_000
  return (config.stepMs + work.sequences * config.sequenceMs + prefillMs) / config.speed
}

const WINDOW_MS = 2_000
const BUCKET_MS = 100

/**
 * Measures tokens per second over the last `WINDOW_MS`. Tokens are counted in buckets, so that the cost does not grow
 * with the number of steps.
 */
function createThroughputMeter() {
  const buckets: { at: number; tokens: number }[] = []
  const forget = (now: number) => {
    while (buckets[0] !== undefined && buckets[0].at <= now - WINDOW_MS) buckets.shift()
  }
  return {
    add(tokens: number): void {
      const now = performance.now()
      const newest = buckets.at(-1)
      if (newest !== undefined && now - newest.at < BUCKET_MS) newest.tokens += tokens
      else buckets.push({ at: now, tokens })
      forget(now)
    },
    perSecond(): number {
      forget(performance.now())
      return buckets.reduce((sum, bucket) => sum + bucket.tokens, 0) / (WINDOW_MS / 1_000)
    },
  }
}

import type { ReportedEngine } from '#libs/event-bus/heartbeat.ts'

export type Throughput = {
  /** Notes the states of an engine in two consecutive heartbeats, and when they arrived. */
  note(before: ReportedEngine, after: ReportedEngine, at: { fromMs: number; toMs: number }): void
  /** Returns the measurements; a measurement with too little data is null. */
  read(): {
    meanOutputTokens: number | null
    /** Tokens per second of one busy replica. */
    decodePerReplica: number | null
    prefillPerReplica: number | null
  }
}

const WINDOW_MS = 10_000
/** A window is used if this share of the slots was busy on average. */
const BUSY_SHARE = 0.7
const LEAST_WINDOWS = 30
const MOST_WINDOWS = 200
const QUANTILE = 0.9
/** A longer gap between two messages ends the window, because the worker's load in the gap is unknown. */
const MOST_GAP_MS = 3_000
/**
 * The mean number of output tokens is known after LEAST_ENDED generations. Whenever more than MOST_ENDED generations
 * have been counted, the weight of all of them is halved, so that later generations weigh more.
 */
const LEAST_ENDED = 10
const MOST_ENDED = 1_000

/**
 * Measures the throughput of one busy replica of a model: the 90th percentile over windows of 10 s. A window of a
 * worker is used only if at least 70 % of the worker's slots were busy in it on average. Decoding slows down as batches
 * fill, and only busy windows show this.
 */
export function createThroughput(): Throughput {
  const windows = new Map<string, Window>()
  const decoded: number[] = []
  const prefilled: number[] = []
  let [outputTokens, ended] = [0, 0]

  function noteWindow(id: string, window: Window) {
    if (window.toMs - window.fromMs < WINDOW_MS) {
      windows.set(id, window)
      return
    }
    windows.delete(id)
    const seconds = (window.toMs - window.fromMs) / 1_000
    if (window.busyMs / (window.toMs - window.fromMs) < BUSY_SHARE) return
    keep(decoded, window.output / seconds)
    if (window.prefill > 0) keep(prefilled, window.prefill / seconds)
  }

  return {
    note(before, after, { fromMs, toMs }) {
      const [output, prefill, ends] = [
        after.outputTokens - before.outputTokens,
        after.promptTokens - after.cachedTokens - (before.promptTokens - before.cachedTokens),
        after.ended - before.ended,
      ]
      outputTokens += output
      ended += ends
      if (ended > MOST_ENDED) [outputTokens, ended] = [outputTokens / 2, ended / 2]
      if (toMs - fromMs > MOST_GAP_MS || after.slots === 0) return void windows.delete(after.id)
      const window = windows.get(after.id) ?? { fromMs, toMs, busyMs: 0, output: 0, prefill: 0 }
      const share = Math.min(1, (before.running + after.running) / 2 / after.slots)
      noteWindow(after.id, {
        fromMs: window.fromMs,
        toMs,
        busyMs: window.busyMs + share * (toMs - fromMs),
        output: window.output + output,
        prefill: window.prefill + prefill,
      })
      for (const [id, { toMs: lastMs }] of windows) if (toMs - lastMs > WINDOW_MS) windows.delete(id)
    },
    read: () => ({
      meanOutputTokens: ended < LEAST_ENDED ? null : outputTokens / ended,
      decodePerReplica: quantile(decoded),
      prefillPerReplica: quantile(prefilled),
    }),
  }
}

type Window = { fromMs: number; toMs: number; busyMs: number; output: number; prefill: number }

function keep(values: number[], value: number): void {
  values.push(value)
  if (values.length > MOST_WINDOWS) values.shift()
}

function quantile(values: readonly number[]): number | null {
  if (values.length < LEAST_WINDOWS) return null
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * QUANTILE) - 1] ?? null
}

import { z } from 'zod'
import { quantile } from '../harness/spread.ts'

/** The work of one thread of clients. */
export const ClientOrder = z.object({
  baseUrl: z.string(),
  apiKey: z.string(),
  model: z.string(),
  /** The number of streams that are open at any time. */
  streams: z.int(),
  requests: z.int(),
  words: z.int(),
  /** The most tokens of an answer. */
  tokens: z.int(),
  /** The prompt of all requests. If absent, each prompt has newly drawn words. */
  prompt: z.string().optional(),
})
export type ClientOrder = z.infer<typeof ClientOrder>

export const StreamFigures = z.object({
  /** The number of tokens that `usage` reports. */
  tokens: z.int(),
  events: z.int(),
  /** The time of each read with text, counted from the sending of the request. */
  timesMs: z.array(z.number()),
  promptTokens: z.int().nullable(),
  /** The number of cached tokens; null if the server does not report it. */
  cachedTokens: z.int().nullable(),
  /** Why the stream was not complete; null if it was complete. */
  problem: z.string().nullable(),
})
export type StreamFigures = z.infer<typeof StreamFigures>

/** The figures of one load on one side. */
export type LoadFigures = {
  readonly tokens: number
  readonly tokensPerS: number
  readonly firstMs: readonly number[]
  readonly gapsMs: readonly number[]
  /** For each stream, the time from its first text to its last, divided by the number of tokens after the first. */
  readonly perTokenMs: readonly number[]
  readonly tokensPerEvent: number
  /** The number of streams that ended before their token limit, because the model wrote an end token. */
  readonly short: number
  readonly problems: readonly string[]
  readonly streams: readonly StreamFigures[]
}

/** Throws if no stream was complete, because then there is nothing to compare. */
export function toLoadFigures(
  streams: readonly StreamFigures[],
  { wallMs, tokens: most }: { readonly wallMs: number; readonly tokens: number },
): LoadFigures {
  const problems = streams.flatMap(({ problem }) => problem ?? [])
  const whole = streams.filter(({ problem, timesMs }) => problem === null && timesMs.length > 0)
  if (whole.length === 0) throw new Error(`no stream was complete: ${problems[0] ?? 'none has text'}`)
  const tokens = sum(whole.map((stream) => stream.tokens))
  return {
    tokens,
    tokensPerS: tokens / (wallMs / 1_000),
    firstMs: ascending(whole.map(({ timesMs }) => timesMs[0] ?? 0)),
    gapsMs: ascending(
      whole.flatMap(({ timesMs }) => timesMs.slice(1).map((at, i) => at - (timesMs[i] ?? at))),
    ),
    perTokenMs: ascending(whole.flatMap(toPerToken)),
    tokensPerEvent: tokens / sum(whole.map(({ events }) => events)),
    short: whole.filter((stream) => stream.tokens < most).length,
    problems,
    streams: whole,
  }
}

function toPerToken({ timesMs, tokens }: StreamFigures): number[] {
  const [first, last] = [timesMs[0], timesMs.at(-1)]
  return first === undefined || last === undefined || tokens < 2 ? [] : [(last - first) / (tokens - 1)]
}

/** Formats a quantile in milliseconds for people; `–` if there are no values. */
export function ms(values: readonly number[], at: number): string {
  if (values.length === 0) return '–'
  const value = quantile(values, at)
  return value < 10 ? value.toFixed(1) : value.toFixed(0)
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)
const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b)

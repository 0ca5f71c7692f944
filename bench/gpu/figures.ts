import { z } from 'zod'
import { quantile } from '../harness/spread.ts'

/** What a thread of clients does. */
export const ClientOrder = z.object({
  baseUrl: z.string(),
  apiKey: z.string(),
  model: z.string(),
  /** Under way at once. */
  streams: z.int(),
  requests: z.int(),
  words: z.int(),
  /** The most tokens of an answer. */
  tokens: z.int(),
  /** The same for each request, in place of words drawn anew. */
  prompt: z.string().optional(),
})
export type ClientOrder = z.infer<typeof ClientOrder>

export const StreamFigures = z.object({
  /** By `usage`. */
  tokens: z.int(),
  events: z.int(),
  /** Each read with text, since the request was sent. */
  timesMs: z.array(z.number()),
  promptTokens: z.int().nullable(),
  /** Null where the server does not report it. */
  cachedTokens: z.int().nullable(),
  /** Null: the stream was complete. */
  problem: z.string().nullable(),
})
export type StreamFigures = z.infer<typeof StreamFigures>

/** Of one load on one side. */
export type LoadFigures = {
  readonly tokens: number
  readonly tokensPerS: number
  readonly firstMs: readonly number[]
  readonly gapsMs: readonly number[]
  /** Of each stream: the time from its first text to its last, by the tokens behind the first. */
  readonly perTokenMs: readonly number[]
  readonly tokensPerEvent: number
  /** Streams that ended before their most tokens: the model wrote an end token. */
  readonly short: number
  readonly problems: readonly string[]
  readonly streams: readonly StreamFigures[]
}

/** Throws when no stream was complete: there is nothing to compare. */
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

/** A quantile in milliseconds, for people; `–` where there is none. */
export function ms(values: readonly number[], at: number): string {
  if (values.length === 0) return '–'
  const value = quantile(values, at)
  return value < 10 ? value.toFixed(1) : value.toFixed(0)
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)
const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b)

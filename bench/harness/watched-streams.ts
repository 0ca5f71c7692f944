import { setTimeout as sleep } from 'node:timers/promises'
import { streamChat, type StreamResult } from './stream-chat.ts'

/** Streams of one request body, with the times of each stream's pieces. */
export type WatchedStreams = {
  /** Resolves when each stream has its first text. */
  readonly flowing: Promise<void>
  /** Resolves when each stream has `pieces` pieces, or has ended. */
  reach(pieces: number): Promise<void>
  /**
   * Resolves when all streams have ended. Rejects if a stream fails, if it does not have `tokens` tokens (see
   * `watchStreams`), or if its text differs from the other texts, even by a single character.
   */
  readonly finished: Promise<readonly StreamResult[]>
  /**
   * Returns one number for each stream, in ascending order: the longest time between two consecutive pieces of the
   * stream. The time between two pieces counts if the second piece arrived at or after `fromMs`, and not after
   * `untilMs` if `untilMs` is given. For a stream in which no time counts, the number is 0.
   */
  longestGapsMs(fromMs: number, untilMs?: number): number[]
  /**
   * Returns one number for each stream that had a piece after `fromMs`, in ascending order: the time from `fromMs` to
   * the first such piece.
   */
  nextPiecesMs(fromMs: number): number[]
  /**
   * Returns, in ascending order, the times between two consecutive pieces of a stream, for all streams together. The
   * time between two pieces counts if the second piece arrived at or after `fromMs`, and not after `untilMs` if
   * `untilMs` is given.
   */
  gapsMs(fromMs: number, untilMs?: number): number[]
}

/** Starts `count` streams of `tokens` tokens, all at once or `startPerS` per second. */
export function watchStreams(options: {
  baseUrl: string
  apiKey: string
  model: string
  count: number
  tokens: number
  startPerS?: number
}): WatchedStreams {
  const { baseUrl, apiKey, model, count, tokens, startPerS = Number.POSITIVE_INFINITY } = options
  const times: number[][] = Array.from({ length: count }, () => [])
  const waiting = new Set<() => void>()
  let ended = 0

  const body = { model, messages: [{ role: 'user', content: `[[tokens=${tokens}]]` }], max_tokens: tokens }
  const results = Promise.all(
    times.map(async (own, index) => {
      await sleep((index * 1_000) / startPerS)
      const result = await streamChat({
        baseUrl,
        apiKey,
        body,
        onText() {
          own.push(performance.now())
          for (const look of waiting) look()
        },
      })
      ended += 1
      for (const look of waiting) look()
      return result
    }),
  )
  const finished = results.then((all) => checkSame(all, tokens))
  finished.catch(() => {})

  async function reach(pieces: number) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const look = () => {
      if (ended === count || times.every((own) => own.length >= pieces)) resolve()
    }
    waiting.add(look)
    look()
    await Promise.race([promise, finished])
    waiting.delete(look)
  }

  const gapsOf = (own: readonly number[], fromMs: number, untilMs: number) =>
    own.flatMap((atMs, index) => {
      const before = own[index - 1]
      return before !== undefined && atMs >= fromMs && atMs <= untilMs ? [atMs - before] : []
    })
  return {
    flowing: reach(1),
    reach,
    finished,
    longestGapsMs: (fromMs, untilMs = Number.POSITIVE_INFINITY) =>
      ascending(times.map((own) => Math.max(0, ...gapsOf(own, fromMs, untilMs)))),
    nextPiecesMs: (fromMs) =>
      ascending(
        times.flatMap((own) => {
          const next = own.find((atMs) => atMs > fromMs)
          return next === undefined ? [] : [next - fromMs]
        }),
      ),
    gapsMs: (fromMs, untilMs = Number.POSITIVE_INFINITY) =>
      ascending(times.flatMap((own) => gapsOf(own, fromMs, untilMs))),
  }
}

function checkSame(results: readonly StreamResult[], tokens: number): readonly StreamResult[] {
  const [first] = results
  for (const result of results) {
    if (result.text !== first?.text || result.completionTokens !== tokens)
      throw new Error(`streams differ: ${result.completionTokens} tokens, ${result.text.length} characters`)
  }
  return results
}

const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b)

import type { RequestEntry } from './request-book.ts'

/** An ended request that is reported, and the number of requests that it stands for. */
export type ChosenEnd = {
  readonly entry: RequestEntry
  readonly kind: 'failed' | 'slow' | 'sample'
  readonly weight: number
}

const SLOWEST = 10

/**
 * Chooses at most `limit` of the requests that ended, in this order:
 * - failures, one group for each account, model and code, with the newest failure as example. If there are more groups
 *   than `limit`, the groups with most failures are chosen;
 * - the 10 slowest of the other requests;
 * - a sample of the rest.
 *
 * `count` is the number of requests that ended. `kept` has the requests among them that the `RequestBook` still keeps.
 * The sample stands for the rest and for the requests that are not kept, so the weights in the sample add up to the
 * number of all these requests.
 */
export function chooseEnded(
  ended: { readonly count: number; readonly kept: readonly RequestEntry[] },
  limit: number,
): readonly ChosenEnd[] {
  const groups = new Map<string, ChosenEnd>()
  const others: RequestEntry[] = []
  for (const entry of ended.kept) {
    if (entry.code === null) {
      others.push(entry)
      continue
    }
    const key = `${entry.accountId} ${entry.model} ${entry.code}`
    groups.set(key, { entry, kind: 'failed', weight: (groups.get(key)?.weight ?? 0) + 1 })
  }
  const failed = [...groups.values()].toSorted((a, b) => b.weight - a.weight).slice(0, limit)
  const bySlowness = others.toSorted((a, b) => lengthMs(b) - lengthMs(a))
  const slow = bySlowness.slice(0, Math.min(SLOWEST, limit - failed.length))
  const rest = bySlowness.slice(slow.length)
  const places = Math.min(rest.length, limit - failed.length - slow.length)
  const weight = places === 0 ? 0 : (rest.length + ended.count - ended.kept.length) / places
  // The sample is taken at equal distances in the order of slowness, so that quick and slow requests are represented
  // alike.
  const sample = Array.from(
    { length: places },
    (_, index) => rest[Math.floor((index * rest.length) / places)],
  )
  return [
    ...failed,
    ...slow.map((entry) => ({ entry, kind: 'slow', weight: 1 }) as const),
    ...sample
      .filter((entry) => entry !== undefined)
      .map((entry) => ({ entry, kind: 'sample', weight }) as const),
  ]
}

const lengthMs = ({ receivedMs, endedMs }: RequestEntry) => (endedMs ?? receivedMs) - receivedMs

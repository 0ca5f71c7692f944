import type { StreamObservation } from './settlement-streams.ts'
import { compareStreamIds, type StreamId } from './stream-id.ts'

/**
 * The loss that the comparison of a stream's observation with the previous observation has found.
 * - `lost`: the stream has a new incarnation already. Either `observe.lua` or another replica of billing has given the
 *   stream this incarnation, because entries are gone, or because the stream's state was deleted or replaced.
 * - `went-back`: only this comparison has found the loss. On the same server and in the same incarnation, the stream's
 *   last id is smaller than before, or the stream or its consumer group is missing. The caller must then give the
 *   stream a new incarnation.
 */
export type Loss = 'none' | 'lost' | 'went-back'

export type LossWatch = {
  judge(
    model: string,
    observed: Pick<StreamObservation, 'server' | 'incarnation' | 'lost'> & {
      readonly stream: { readonly lastId: StreamId } | null
    },
  ): Loss
}

/**
 * Compares each observation of a stream with the previous one. `scripts/observe.lua` finds contradictions with the
 * state that is stored beside the stream. If the state and the stream were deleted together, or if an older copy of
 * both was loaded, the script finds no contradiction, but this comparison does. After a restart or a promotion of
 * Redis, the part of the stream's run id that names the Redis server is new. In this case missing entries at the end of
 * the stream raise no alarm, because the gateways send these settlements again.
 */
export function createLossWatch(): LossWatch {
  type Seen = { readonly server: string; readonly incarnation: string; readonly lastId: StreamId | null }
  const latest = new Map<string, Seen>()

  return {
    judge(model, { server, incarnation, lost, stream }) {
      const before = latest.get(model)
      const lastId = stream?.lastId ?? null
      latest.set(model, { server, incarnation, lastId })
      if (before === undefined || before.server !== server) return lost ? 'lost' : 'none'
      if (before.incarnation !== incarnation) return 'lost'
      const wentBack =
        before.lastId !== null && (lastId === null || compareStreamIds(lastId, before.lastId) < 0)
      return wentBack ? 'went-back' : 'none'
    },
  }
}

import type { Rules } from './rules.ts'
import { MOST_LOST_WRITES, type Place, type State, type Store, type WorkerName } from './state.ts'
import { wrong } from './state.ts'

/** Enqueues the record to an epoch, recreating a lost one, and puts it among the waiting. Repeatable. */
export function enqueue(
  state: State,
  { epoch, ids }: { epoch: number; ids: number },
): readonly [State, 'waiting' | 'claimed' | 'superseded' | 'settled'] {
  const { record } = state.store
  if (record !== null && record.settled !== null) return [state, 'settled']
  if (record !== null && record.epoch > epoch) return [state, 'superseded']
  if (record !== null && record.epoch === epoch)
    return [state, record.worker === null ? 'waiting' : 'claimed']
  const enqueued = { epoch, worker: null, settled: null, ids, waiting: true, given: record?.given ?? NONE }
  return [written(state, { ...state.store, record: enqueued }), 'waiting']
}

const NONE = [0, 0] as const

/** Gives the waiting generation to a worker; null if none waits. A repeated claim with the same nonce gets it again. */
export function claim(
  state: State,
  place: Place,
  rules: Rules,
): readonly [State, { readonly epoch: number; readonly ids: number } | null] {
  const { record, over } = state.store
  if (record === null) return [state, null]
  const answer = { epoch: record.epoch, ids: record.ids }
  const handed = (after: State) => (over ? wrong(after, 'what was settled runs again') : after)
  const given = record.given[place]
  if (state.workers[place].doing === 'claiming' && given !== 0) {
    const stillIts = given === record.epoch && record.worker === place && record.settled === null
    return stillIts || !rules.repeatedClaimChecked ? [handed(state), answer] : [state, null]
  }
  if (!record.waiting || record.settled !== null) return [state, null]
  const [first, second] = record.given
  const claimed = {
    ...record,
    waiting: false,
    worker: place,
    given: place === 0 ? ([record.epoch, second] as const) : ([first, record.epoch] as const),
  }
  return [handed(written(state, { ...state.store, record: claimed })), answer]
}

/** Ends the generation in any state. If there are several settlements, the first one wins. */
export function settle(
  state: State,
  settlement: { epoch: number; worker: WorkerName | null; usage: number; by: 'gateway' | 'worker' },
  rules: Rules,
): readonly [State, 'recorded' | 'settled' | 'stale'] {
  const { epoch, usage, by } = settlement
  const { record, stream } = state.store
  if (record !== null && record.settled !== null) return [state, 'settled']
  if (record === null && by === 'worker') return [state, 'stale']
  if (record !== null && isFenced(record, settlement, rules)) return [state, 'stale']
  const tombstone = {
    epoch,
    worker: record?.worker ?? null,
    settled: usage,
    ids: 0,
    waiting: false,
    given: record?.given ?? NONE,
  }
  const next = {
    record: rules.tombstone ? tombstone : null,
    stream: [...stream, { usage, by }],
    over: true,
  }
  return [written(state, next), 'recorded']
}

function isFenced(
  record: { readonly epoch: number; readonly worker: WorkerName | null },
  { epoch, worker, by }: { epoch: number; worker: WorkerName | null; by: 'gateway' | 'worker' },
  { settleFence }: Rules,
): boolean {
  const otherWorker = worker !== null && worker !== record.worker
  if (epoch < record.epoch) return true
  if (by === 'worker') return epoch !== record.epoch || otherWorker
  if ((settleFence === 'same-epoch' || settleFence === 'both') && epoch !== record.epoch) return true
  return (settleFence === 'worker' || settleFence === 'both') && otherWorker
}

function written(state: State, store: Store): State {
  return { ...state, store, earlier: [...state.earlier, state.store].slice(-MOST_LOST_WRITES) }
}

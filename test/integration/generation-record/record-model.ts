import type { Claiming, Lift, Settled, Settler } from '#libs/generation-record/generation-record.ts'

/** The arguments of a lift, without `expiry` and `memory`, which the model leaves out. */
export type ModelLift = {
  id: string
  epoch: number
  needs: { features: readonly string[]; window: number }
  tag: number | null
  place: { accountId: string; cost: number; mostAhead: number }
  bounds: { accountBytes: number; modelBytes: number }
  gateway: string
  bytes: number
  ids: number[]
}

export type ModelClaim =
  | { status: 'nothing' }
  | { status: 'claimed'; id: string; epoch: number; ids: number[]; waiting: number }

export type ModelSettlement = { id: string; epoch: number; outcome: string }

type Generation = {
  epoch: number
  gateway: string
  tag: number
  ids: number[]
  worker: string | null
  nonce: string | null
  settled: { waited: boolean } | null
}

type Waiting = {
  id: string
  needs: ModelLift['needs']
  tag: number
  accountId: string
  cost: number
  bytes: number
}

/** Creates a model of the record's rules in memory, with plain lists that are searched from the beginning. */
export function createRecordModel() {
  const generations = new Map<string, Generation>()
  /** The waiting generations in the order of arrival. */
  let waiting: Waiting[] = []
  const finish = new Map<string, number>()
  const nonces = new Map<string, string>()
  const settlements: ModelSettlement[] = []
  let virtual = 1

  const bytesOf = (list: readonly Waiting[]) => list.reduce((sum, { bytes }) => sum + bytes, 0)
  const ofAccount = (accountId: string) => waiting.filter((entry) => entry.accountId === accountId)
  const countAhead = (tag: number) => waiting.filter((entry) => entry.tag <= tag).length

  function leave(id: string, unserved: boolean): boolean {
    const left = waiting.find((entry) => entry.id === id)
    if (left === undefined) return false
    waiting = waiting.filter((entry) => entry !== left)
    const own = finish.get(left.accountId)
    const most = virtual + left.cost
    if (unserved && ofAccount(left.accountId).length === 0 && own !== undefined && own > most) {
      finish.set(left.accountId, most)
    }
    return true
  }

  function end(settlement: ModelSettlement, worker: string | null, waited: boolean) {
    const { id, epoch } = settlement
    const ended = { epoch, gateway: '', tag: 0, ids: [], worker, nonce: null, settled: { waited } }
    generations.set(id, ended)
    settlements.push(settlement)
  }

  return {
    settlements,
    waiting: () => waiting,
    waitingBytes: () => bytesOf(waiting),

    lift(lifting: ModelLift): Lift {
      const { id, epoch, needs, gateway, bytes, ids } = lifting
      const { accountId, cost, mostAhead } = lifting.place
      const known = generations.get(id)
      if (known?.settled) return { status: 'settled' }
      if (known !== undefined && known.epoch > epoch) return { status: 'superseded' }
      if (known?.epoch === epoch) {
        if (known.worker !== null && known.nonce !== null) {
          return { status: 'claimed', worker: known.worker, nonce: known.nonce }
        }
        return { status: 'waiting', tag: known.tag, ahead: countAhead(known.tag) - 1 }
      }
      let tag = epoch > 1 ? 0 : lifting.tag
      let ahead = countAhead(tag ?? 0)
      if (tag === null) {
        tag = Math.max(virtual, finish.get(accountId) ?? 0)
        ahead = countAhead(tag)
        if (ahead > mostAhead) return { status: 'busy', reason: 'queue', ahead }
        const account = bytesOf(ofAccount(accountId)) + bytes
        const { accountBytes, modelBytes } = lifting.bounds
        if (account > accountBytes || bytesOf(waiting) + bytes > modelBytes) {
          return { status: 'busy', reason: 'bytes', ahead }
        }
        finish.set(accountId, tag + cost)
      }
      leave(id, false)
      generations.set(id, { epoch, gateway, tag, ids, worker: null, nonce: null, settled: null })
      waiting.push({ id, needs, tag, accountId, cost, bytes })
      return { status: 'waiting', tag, ahead }
    },

    claim({ worker, nonce, serves, buried }: Claiming): ModelClaim {
      const known = nonces.get(nonce)
      if (known !== undefined) {
        const generation = generations.get(known)
        const isSame = generation?.worker === worker && generation.nonce === nonce && !generation.settled
        return isSame
          ? { status: 'claimed', id: known, epoch: generation.epoch, ids: generation.ids, waiting: 0 }
          : { status: 'nothing' }
      }
      for (;;) {
        const served = waiting.filter(
          ({ needs }) =>
            needs.features.every((word) => serves.features.includes(word)) && needs.window <= serves.window,
        )
        const first = served.toSorted((a, b) => a.tag - b.tag)[0]
        const generation = generations.get(first?.id ?? '')
        if (first === undefined || generation === undefined) return { status: 'nothing' }
        if (buried.includes(generation.gateway)) {
          leave(first.id, true)
          end({ id: first.id, epoch: generation.epoch, outcome: 'fault' }, null, true)
          continue
        }
        leave(first.id, false)
        virtual = Math.max(virtual, generation.tag)
        Object.assign(generation, { worker, nonce })
        nonces.set(nonce, first.id)
        const { epoch, ids } = generation
        return { status: 'claimed', id: first.id, epoch, ids, waiting: served.length - 1 }
      }
    },

    settle(settlement: ModelSettlement, as: Settler): Settled {
      const { id, epoch } = settlement
      const known = generations.get(id)
      const worker = known?.worker ?? null
      if (known?.settled) return { status: 'settled', worker, waited: known.settled.waited }
      const isOwn = as.role === 'gateway' || (known?.epoch === epoch && known.worker === as.worker)
      if (!isOwn || epoch < (known?.epoch ?? 0)) return { status: 'stale', worker: null, waited: false }
      const waited = leave(id, true)
      end(settlement, worker, waited)
      return { status: 'recorded', worker, waited }
    },
  }
}

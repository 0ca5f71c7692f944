import type {
  Claiming,
  EnqueueAnswer,
  Place,
  Settled,
  Settler,
} from '#libs/generation-record/generation-record.ts'

/** The arguments of an enqueue, without `expiry` and `memory`, which the model leaves out. */
export type ModelEnqueue = {
  id: string
  epoch: number
  requirements: { features: readonly string[]; window: number }
  tag: number | null
  place: Place
  bounds: { accountBytes: number; modelBytes: number }
  gateway: string
  bytes: number
  ids: number[]
}

export type ModelClaim =
  | { status: 'nothing' }
  | { status: 'claimed'; id: string; epoch: number; ids: number[]; waiting: number }

export type ModelSettlement = { id: string; epoch: number; outcome: string; tokens: number }

type Generation = {
  epoch: number
  place: Place
  gateway: string
  tag: number
  ids: number[]
  worker: string | null
  nonce: string | null
  settled: { waited: boolean } | null
}

type Waiting = {
  id: string
  requirements: ModelEnqueue['requirements']
  tag: number
  place: Place
  bytes: number
}

/** How far an account whose generations wait may be behind the virtual time. */
const MOST_CREDIT = 65_536

/** Creates a model of the record's rules in memory, with plain lists that are searched from the beginning. */
export function createRecordModel() {
  const generations = new Map<string, Generation>()
  /** The waiting generations in the order of arrival. */
  let waiting: Waiting[] = []
  const finish = new Map<string, number>()
  const nonces = new Map<string, string>()
  const settlements: ModelSettlement[] = []
  const orphans: ModelSettlement[] = []
  let virtual = 1

  const bytesOf = (list: readonly Waiting[]) => list.reduce((sum, { bytes }) => sum + bytes, 0)
  const costOf = (list: readonly Waiting[]) => list.reduce((sum, { place }) => sum + place.cost, 0)
  const isOf = (accountId: string) => (entry: Waiting) => entry.place.accountId === accountId
  const ofAccount = (accountId: string) => waiting.filter(isOf(accountId))
  const countAhead = (tag: number) => waiting.filter((entry) => entry.tag <= tag).length

  /** Returns where an account's next generation waits, and where its share is used up from. */
  function nextPlace({ accountId, weight }: Place) {
    if (!finish.has(accountId)) {
      for (const [account, tag] of finish) if (tag <= virtual - MOST_CREDIT) finish.delete(account)
    }
    const own = ofAccount(accountId)
    const credit = own.length > 0 ? MOST_CREDIT : 0
    const start = Math.max(virtual - credit, finish.get(accountId) ?? -Infinity)
    return { start, tag: Math.max(start, virtual + costOf(own) / weight / 4) }
  }

  function costBefore(accountId: string, tag: number): number {
    const own = ofAccount(accountId)
    const others = waiting.filter((entry) => !isOf(accountId)(entry))
    const meanOfOthers = others.length === 0 ? 0 : costOf(others) / others.length
    return Math.ceil(costOf(own) + meanOfOthers * Math.max(0, countAhead(tag) - own.length))
  }

  function charge({ accountId, weight, cost, fixedCost }: Place, tag: number, tokens: number) {
    const used = tokens === 0 ? 0 : tokens + fixedCost
    const own = finish.get(accountId)
    if (own !== undefined) finish.set(accountId, own + (used - cost) / weight)
    else if (used > cost && tag + used / weight > virtual) finish.set(accountId, tag + used / weight)
  }

  function leave(id: string): boolean {
    const before = waiting.length
    waiting = waiting.filter((entry) => entry.id !== id)
    return waiting.length < before
  }

  function end(settlement: ModelSettlement, known: Generation | undefined, waited: boolean) {
    const { id, epoch } = settlement
    if (known !== undefined) charge(known.place, known.tag, settlement.tokens)
    const place = { accountId: '', weight: 1, cost: 0, fixedCost: 0, mostAhead: 0 }
    const worker = known?.worker ?? null
    generations.set(id, {
      epoch,
      place,
      gateway: '',
      tag: 0,
      ids: [],
      worker,
      nonce: null,
      settled: { waited },
    })
  }

  return {
    /** What gateways settled, whether it counted or not. */
    settlements,
    /** What workers ended for dead gateways: free of charge. */
    orphans,
    waiting: () => waiting,
    waitingBytes: () => bytesOf(waiting),
    finish,
    virtual: () => virtual,

    enqueue(enqueueing: ModelEnqueue): EnqueueAnswer {
      const { id, epoch, requirements, place, gateway, bytes, ids } = enqueueing
      const known = generations.get(id)
      if (known?.settled) return { status: 'settled' }
      if (known !== undefined && known.epoch > epoch) return { status: 'superseded' }
      if (known?.epoch === epoch) {
        if (known.worker !== null && known.nonce !== null) {
          return { status: 'claimed', worker: known.worker, nonce: known.nonce }
        }
        return {
          status: 'waiting',
          tag: known.tag,
          ahead: countAhead(known.tag) - 1,
          costAhead: null,
          home: null,
        }
      }
      let tag = epoch > 1 ? 0 : enqueueing.tag
      let costAhead: number | null = null
      if (tag === null) {
        const next = nextPlace(place)
        tag = next.tag
        costAhead = costBefore(place.accountId, tag)
        if (costAhead > place.mostAhead) return { status: 'busy', reason: 'queue', ahead: costAhead }
        const account = bytesOf(ofAccount(place.accountId)) + bytes
        const { accountBytes, modelBytes } = enqueueing.bounds
        if (account > accountBytes || bytesOf(waiting) + bytes > modelBytes) {
          return { status: 'busy', reason: 'bytes', ahead: costAhead }
        }
        finish.set(place.accountId, next.start + place.cost / place.weight)
      }
      const ahead = countAhead(tag)
      leave(id)
      generations.set(id, { epoch, place, gateway, tag, ids, worker: null, nonce: null, settled: null })
      waiting.push({ id, requirements, tag, place, bytes })
      return { status: 'waiting', tag, ahead, costAhead, home: null }
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
          ({ requirements }) =>
            requirements.features.every((word) => serves.features.includes(word)) &&
            requirements.window <= serves.window,
        )
        const first = served.toSorted((a, b) => a.tag - b.tag)[0]
        const generation = generations.get(first?.id ?? '')
        if (first === undefined || generation === undefined) return { status: 'nothing' }
        if (buried.includes(generation.gateway)) {
          leave(first.id)
          const orphan = { id: first.id, epoch: generation.epoch, outcome: 'fault', tokens: 0 }
          orphans.push(orphan)
          end(orphan, generation, true)
          continue
        }
        leave(first.id)
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
      if (as.role === 'gateway') settlements.push(settlement)
      if (known?.settled) return { status: 'settled', worker, waited: known.settled.waited }
      const isOwn = as.role === 'gateway' || (known?.epoch === epoch && known.worker === as.worker)
      if (!isOwn || epoch < (known?.epoch ?? 0)) return { status: 'stale', worker: null, waited: false }
      const waited = leave(id)
      if (as.role === 'worker') orphans.push({ ...settlement, outcome: 'fault', tokens: 0 })
      end(settlement, known, waited)
      return { status: 'recorded', worker, waited }
    },
  }
}

import { createFairPot, type FairPot, type PotMember } from '#libs/fair-share/fair-pot.ts'
import { isStarting, type ModelState } from '#libs/contracts/model-state.ts'
import type { ClusterPicture } from '../../demand/cluster-picture.ts'
import type { Demand } from '../../demand/demand.ts'
import type { KnownModelStates } from '../../demand/model-states.ts'
import type { AnnouncedWait, GenerationCall } from '../request/generation-call.ts'

/**
 * The wait of one request for a model that is being started. It begins when the generation is queued, and ends in one
 * of these ways:
 * - `started`: a worker took the generation.
 * - `late`: no worker took it within the time that the client is willing to wait.
 * - `failed`: no worker will come, or the gateway, Redis or the bus failed or stopped.
 * - `left`: the client hung up.
 */
export type StartWait = AnnouncedWait & {
  /** Returns the rest of the client's time, in ms. It is negative after the end of that time. */
  leftMs(): number
  /** Returns the state of the model, from its workers, the catalog and the scaler. */
  state(): ModelState
  /** The generation is queued: it counts as demand at once, and the client is informed. */
  begin(): void
  /** Ends the wait and frees its place. Only the first call counts. */
  end(how: StartWaitEnd): void
}

/** How a wait ended. `refused`: it did not begin, because too many requests wait already. */
export type StartWaitEnd = 'started' | 'late' | 'failed' | 'left' | 'refused'

export type StartWaits = {
  /** Returns true if the client asks to wait, the model is being started, and there is room for one more. */
  admits(call: GenerationCall): boolean
  /** Takes a place, which `end` frees. Must follow `admits`. */
  enter(call: GenerationCall): StartWait
  /** Returns how many requests wait, by model. */
  counts(): ReadonlyMap<string, number>
}

type Deps = {
  readonly picture: Pick<ClusterPicture, 'find'>
  readonly modelStates: Pick<KnownModelStates, 'find'>
  readonly demand: Pick<Demand, 'awaitStart'>
  /** Returns whether the catalog still has the model, and requests for it are allowed. */
  readonly isSold: (model: string) => boolean
  /**
   * The most requests that may wait for one model. One account may have a quarter of them. If all places are taken, the
   * account with the most gives up one to an account that has fewer: its youngest wait ends as `late`.
   */
  readonly most: number
  readonly onEnd: (model: string, how: StartWaitEnd) => void
  readonly nowMs: () => number
}

/**
 * Keeps the places of the requests that wait for models that a scaler starts. A request that waits is an ordinary
 * generation of the queue: its credits are reserved, it is in the fair order between accounts, and its bytes count
 * towards the limit of the bytes that may be queued. The number of places bounds the memory and the connections of this
 * gateway.
 */
export function createStartWaits(deps: Deps): StartWaits {
  const { most, modelStates, onEnd } = deps
  const pots = new Map<string, FairPot<PotMember>>()
  const potOf = (model: string) => {
    const pot = pots.get(model) ?? createFairPot(most, Math.ceil(most / 4))
    pots.set(model, pot)
    return pot
  }

  return {
    admits({ model, caller, startWaitS }) {
      if (startWaitS === null) return false
      if (!isStarting(modelStates.find(model.id)?.state)) return false
      const hasRoom = potOf(model.id).hasPlace(caller.accountId)
      if (!hasRoom) onEnd(model.id, 'refused')
      return hasRoom
    },
    enter: (call) => openStartWait(deps, call, potOf(call.model.id)),
    counts() {
      const counts = [...pots].map(([model, pot]) => [model, [...pot.members()].length] as const)
      return new Map(counts.filter(([, count]) => count > 0))
    },
  }
}

function openStartWait(deps: Deps, call: GenerationCall, places: FairPot<PotMember>): StartWait {
  const { picture, modelStates, demand, isSold, onEnd, nowMs } = deps
  const { model } = call
  const limitS = call.startWaitS ?? 0
  let begunMs: number | null = null
  let isOver = false
  let isEvicted = false
  const member = { owner: call.caller.accountId, evict: () => (isEvicted = true) }
  places.take(member, 1)
  const wait: StartWait = {
    limitS,
    leftMs: () => (isEvicted ? 0 : limitS * 1_000 - (begunMs === null ? 0 : nowMs() - begunMs)),
    expectedMs: () =>
      isOver || picture.find(model.id) !== null ? null : (modelStates.find(model.id)?.etaMs ?? null),
    state() {
      if (picture.find(model.id) !== null) return 'serving'
      return isSold(model.id) ? (modelStates.find(model.id)?.state ?? 'unserved') : 'disabled'
    },
    begin() {
      begunMs = nowMs()
      demand.awaitStart(model.id)
      call.onStartWait?.(wait)
    },
    end(how) {
      if (isOver) return
      isOver = true
      places.leave(member)
      if (begunMs !== null || how === 'refused') onEnd(model.id, how)
    },
  }
  return wait
}

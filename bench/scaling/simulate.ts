import { createClients, WARMING_RETRY_S, type Attempt } from './clients.ts'
import { createFleet, type Fleet } from './fleet.ts'
import { createRandom } from './random.ts'
import type { Trace } from './traces.ts'

/** A request is refused as busy if the queue before it would take longer than this to drain. */
const DRAIN_S = 30

/** The weight of an ended generation in the moving mean of the service time. */
const MEAN_SHARE = 0.02

/** The signals that a scaling rule receives each second. Counters count from the start of the simulation. */
export type Signals = {
  readonly nowS: number
  readonly waiting: number
  readonly running: number
  readonly meanServiceS: number
  readonly fresh: number
  readonly repeated: number
  readonly busy: number
  readonly unserved: number
  /** The time of the last refusal for lack of a pod; null before the first. */
  readonly unservedS: number | null
}

/** A scaling rule: creates and removes pods, once a second. */
export type Scaling = { act(signals: Signals, fleet: Fleet): void }

export type Outcome = {
  /** The share of the requests whose clients gave up, in percent. */
  readonly gaveUp: number
  readonly gpuHours: number
  readonly starts: number
  readonly removed: number
  readonly removedBusy: number
  readonly peak: number
  /** The 95th percentile of the time from the first attempt to the start of the generation, in seconds. */
  readonly waitP95S: number
}

/**
 * Runs one scaling rule on one trace, in steps of one second. There are one model and one pool, and clients repeat
 * refused requests.
 */
export function simulate(trace: Trace, createScaling: () => Scaling, seed: number): Outcome {
  const random = createRandom(seed * 7919 + 13)
  const fleet = createFleet(random)
  const clients = createClients(random)
  const scaling = createScaling()
  const counters = { fresh: 0, repeated: 0, busy: 0, unserved: 0 }
  const waits: number[] = []
  const queue: Attempt[] = []
  let meanServiceS = trace.serviceS(0)
  let unservedS: number | null = null
  let podSeconds = 0
  let peak = 0

  for (let pod = 0; pod < trace.startPods; pod += 1) fleet.create(0, true)
  for (let nowS = 0; nowS < trace.seconds; nowS += 1) {
    for (const tookS of fleet.end(nowS)) meanServiceS += (tookS - meanServiceS) * MEAN_SHARE
    const { slots, free } = fleet.room(nowS)
    const rate = slots / meanServiceS
    const mostAhead = free + Math.floor(DRAIN_S * rate)
    for (const request of clients.ask(nowS, trace.perS(nowS))) {
      counters[request.attempt === 1 ? 'fresh' : 'repeated'] += 1
      if (slots === 0) {
        counters.unserved += 1
        unservedS = nowS
        clients.refuse(nowS, request, WARMING_RETRY_S)
      } else if (queue.length > mostAhead) {
        counters.busy += 1
        const retryS = Math.min(59, Math.max(1, (queue.length - mostAhead) / rate))
        clients.refuse(nowS, request, retryS * (1 + random.uniform() / 2))
      } else queue.push(request)
    }
    const started = startWaiting(queue, fleet, { nowS, serviceS: trace.serviceS(nowS) })
    for (const { bornS } of started) waits.push(nowS - bornS)
    let running = 0
    for (const pod of fleet.pods) running += pod.running
    scaling.act({ nowS, waiting: queue.length, running, meanServiceS, ...counters, unservedS }, fleet)
    podSeconds += fleet.pods.size
    peak = Math.max(peak, fleet.pods.size)
  }
  const sorted = Float64Array.from(waits).toSorted()
  return {
    gaveUp: (100 * clients.counts.gaveUp) / clients.counts.born,
    gpuHours: podSeconds / 3600,
    starts: fleet.counts.created,
    removed: fleet.counts.removed,
    removedBusy: fleet.counts.removedBusy,
    peak,
    waitP95S: sorted[Math.floor(sorted.length * 0.95)] ?? 0,
  }
}

/** Starts requests in the order of arrival. Returns the started requests and removes them from the queue. */
function startWaiting(
  queue: Attempt[],
  fleet: Fleet,
  now: { readonly nowS: number; readonly serviceS: number },
): readonly Attempt[] {
  let count = 0
  while (count < queue.length && fleet.start(now.nowS, now.serviceS)) count += 1
  return count === 0 ? [] : queue.splice(0, count)
}

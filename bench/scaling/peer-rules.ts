import type { Fleet } from './fleet.ts'
import { HPA_PERIOD_S, setReplicas } from './kubernetes.ts'
import type { Scaling, Signals } from './simulate.ts'

/**
 * The HPA's defaults:
 * - It changes nothing if the wanted number of pods deviates by at most 10 % from the present number.
 * - It lowers the number of pods only to the highest number that was wanted in the last 300 s.
 * - In one step it at most doubles the number of pods or adds 4 pods, whichever is more.
 */
const TOLERANCE = 0.1
const DOWN_WINDOW_S = 300
const UP_FACTOR = 2
const UP_PODS = 4

/** KEDA removes all pods after this time without load. */
const IDLE_S = 300

/** How long a refusal for lack of a pod counts as load. */
const UNSERVED_S = 30

const MAX_PODS = 200

/** The rule of vLLM production-stack: one pod for five waiting requests. */
export function createQueueRule(): Scaling {
  return createHpaScaling((signals) => {
    return Math.ceil(signals.waiting / 5) || Number(signals.running > 0 || wasUnserved(signals))
  })
}

/** The rule of llm-d: one pod for each waiting request, or for 16 running ones, whichever gives more pods. */
export function createLlmdRule(): Scaling {
  return createHpaScaling((signals) => {
    return Math.max(signals.waiting, Math.ceil(signals.running / 16)) || Number(wasUnserved(signals))
  })
}

/**
 * Follows a wanted number of pods as KEDA and the HPA do with their default settings. KEDA and the HPA remove pods even
 * if the pods are busy.
 */
function createHpaScaling(wantedPods: (signals: Signals) => number): Scaling {
  const history: number[] = []
  let zeroSinceS: number | null = null

  function follow(wanted: number, fleet: Fleet, nowS: number): number {
    const pods = fleet.alive().length
    if (pods === 0) return Number(wanted > 0)
    zeroSinceS = wanted > 0 ? null : (zeroSinceS ?? nowS)
    if (zeroSinceS !== null && nowS - zeroSinceS >= IDLE_S) return 0
    const least = Math.max(1, wanted)
    if (Math.abs(least / pods - 1) <= TOLERANCE) return pods
    if (least < pods) return Math.min(pods, Math.max(least, ...history))
    return Math.min(least, Math.max(pods * UP_FACTOR, pods + UP_PODS))
  }

  return {
    act(signals, fleet) {
      const wanted = Math.min(MAX_PODS, wantedPods(signals))
      history.push(wanted)
      if (history.length > DOWN_WINDOW_S) history.shift()
      if (signals.nowS % HPA_PERIOD_S === 0)
        setReplicas(fleet, follow(wanted, fleet, signals.nowS), signals.nowS)
    },
  }
}

function wasUnserved({ nowS, unservedS }: Signals): boolean {
  return unservedS !== null && nowS - unservedS < UNSERVED_S
}

import type { Random } from './random.ts'

/** Slots of one pod. */
export const SLOTS = 32

/**
 * The time from the creation of a pod until it serves is lognormal, with this mean in seconds and this standard
 * deviation of the logarithm.
 */
const START_S = 180
const START_SPREAD = 0.15

/** The spread of the logarithm of a generation's time. */
const SERVICE_SPREAD = 0.6

export type Pod = {
  readonly id: number
  readonly name: string
  readonly bornS: number
  readonly readyS: number
  running: number
  isCordoned: boolean
  isDeleting: boolean
  idleReports: number
  deletionCost: number | null
}

/**
 * One model's pods. They take generations from the queue while they have room, and end each generation after a random
 * time.
 */
export type Fleet = {
  /** All pods, including pods that are being deleted and still run something. */
  readonly pods: ReadonlySet<Pod>
  /** Returns the pods that are not being deleted. */
  alive(): Pod[]
  create(nowS: number, isWarm: boolean): void
  /** Removes a pod. Its running generations end first. */
  remove(pod: Pod): void
  /**
   * Ends the generations that are due, and drops deleted pods that are empty. Returns how long each generation took, in
   * seconds.
   */
  end(nowS: number): readonly number[]
  /** Starts one generation on a random pod with room. Returns false if no pod has room. */
  start(nowS: number, serviceS: number): boolean
  /** Returns the number of pods that take work (`ready`), of all their slots, and of their free slots. */
  room(nowS: number): { readonly slots: number; readonly free: number; readonly ready: number }
  readonly counts: { created: number; removed: number; removedBusy: number }
}

export function createFleet(random: Random): Fleet {
  const pods = new Set<Pod>()
  const endings = new Map<number, { pod: Pod; tookS: number }[]>()
  const counts = { created: 0, removed: 0, removedBusy: 0 }
  let able: { second: number; pods: Pod[] } = { second: -1, pods: [] }
  let lastId = 0

  const isServing = (pod: Pod, nowS: number) => pod.readyS <= nowS && !pod.isCordoned && !pod.isDeleting

  function ablePods(nowS: number): Pod[] {
    if (able.second !== nowS) {
      able = { second: nowS, pods: [...pods].filter((pod) => isServing(pod, nowS) && pod.running < SLOTS) }
    }
    return able.pods
  }

  return {
    pods,
    counts,
    alive: () => [...pods].filter((pod) => !pod.isDeleting),
    create(nowS, isWarm) {
      lastId += 1
      if (!isWarm) counts.created += 1
      pods.add({
        id: lastId,
        name: `pod-${lastId}`,
        bornS: nowS,
        readyS: isWarm ? nowS : nowS + random.lognormal(START_S, START_SPREAD),
        running: 0,
        isCordoned: false,
        isDeleting: false,
        idleReports: 0,
        deletionCost: null,
      })
    },
    remove(pod) {
      counts.removed += 1
      if (pod.running > 0) counts.removedBusy += 1
      pod.isDeleting = true
      if (pod.running === 0) pods.delete(pod)
    },
    end(nowS) {
      const due = endings.get(nowS) ?? []
      endings.delete(nowS)
      for (const { pod } of due) {
        pod.running -= 1
        if (pod.isDeleting && pod.running === 0) pods.delete(pod)
      }
      return due.map(({ tookS }) => tookS)
    },
    start(nowS, serviceS) {
      const candidates = ablePods(nowS)
      const index = Math.floor(random.uniform() * candidates.length)
      const pod = candidates[index]
      if (pod === undefined) return false
      const tookS = random.lognormal(serviceS, SERVICE_SPREAD)
      const endS = Math.max(nowS + 1, Math.ceil(nowS + tookS))
      const others = endings.get(endS)
      if (others === undefined) endings.set(endS, [{ pod, tookS }])
      else others.push({ pod, tookS })
      pod.running += 1
      if (pod.running >= SLOTS) candidates.splice(index, 1)
      return true
    },
    room(nowS) {
      const room = { slots: 0, free: 0, ready: 0 }
      for (const pod of pods) {
        if (pod.readyS > nowS || pod.isDeleting) continue
        room.ready += 1
        if (pod.isCordoned) continue
        room.slots += SLOTS
        room.free += SLOTS - pod.running
      }
      return room
    },
  }
}

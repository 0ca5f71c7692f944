import { noteStart, predictWholeStart } from './decide/predict-start.ts'
import { NO_START_TIMES, type PodView, type PoolSpec, type StartTimes } from './decide/types.ts'
import type { JoinedPods, PhaseEnd } from './pods.ts'
import type { PoolStarts } from './snapshot.ts'

export type StartTimesKeeper = {
  /** Notes the phases that ended, and pods that are seen for the first time. */
  note(joined: JoinedPods): void
  current(): Readonly<Record<string, PoolStarts>>
  /** Replaces the start times of this process with the start times that an earlier leader measured. */
  adopt(starts: Readonly<Record<string, PoolStarts>>): void
}

/**
 * Keeps two durations of each start of a pod: from its creation until it has a node, and from then until it serves. The
 * durations of each pool are kept apart, and only the durations of the pool's newest image are kept. `onStart` is
 * called after each whole start, with its duration and with the prediction that was made when the pod was first seen.
 */
export function createStartTimes(options: {
  specOf: (pool: string) => PoolSpec | undefined
  onStart: (pool: string, start: { ms: number; predictedMs: number }) => void
}): StartTimesKeeper {
  const { specOf, onStart } = options
  let starts: Record<string, PoolStarts> = {}
  const starting = new Map<string, { predictedMs: number; passedMs: number }>()

  const timesOf = (pool: string) => starts[pool]?.times ?? NO_START_TIMES

  function watch(pod: PodView) {
    const spec = specOf(pod.pool)
    const isStarting = pod.phase === 'unscheduled' || pod.phase === 'loading'
    if (spec === undefined || !isStarting || starting.has(pod.uid)) return
    starting.set(pod.uid, { predictedMs: predictWholeStart(spec, timesOf(pod.pool)), passedMs: 0 })
  }

  function noteEnd({ uid, pool, image, phase, ms, next }: PhaseEnd) {
    if (phase !== 'unscheduled' && phase !== 'loading') return
    const start = starting.get(uid)
    if (next !== 'loading' && next !== 'ready') return void starting.delete(uid)
    const known: StartTimes = starts[pool]?.image === image ? timesOf(pool) : NO_START_TIMES
    const ended = noteStart(known, { phase, ms })
    // The pod was ready before this process saw it load, so its loading counts as 0 ms.
    const loadedAtOnce = phase === 'unscheduled' && next === 'ready'
    const times = loadedAtOnce ? noteStart(ended, { phase: 'loading', ms: 0 }) : ended
    starts = { ...starts, [pool]: { image, times } }
    if (start === undefined) return
    start.passedMs += ms
    if (next !== 'ready') return
    starting.delete(uid)
    onStart(pool, { ms: start.passedMs, predictedMs: start.predictedMs })
  }

  return {
    note({ byPool, ended }) {
      for (const end of ended) noteEnd(end)
      const pods = [...byPool.values()].flat()
      for (const pod of pods) watch(pod)
      const uids = new Set(pods.map(({ uid }) => uid))
      for (const uid of starting.keys()) if (!uids.has(uid)) starting.delete(uid)
    },
    current: () => starts,
    adopt(adopted) {
      starts = { ...adopted }
    },
  }
}

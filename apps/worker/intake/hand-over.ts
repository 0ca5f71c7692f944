import type { RunningGeneration } from '../run/running-generation.ts'

/** Ends the runs of a worker that stops. Resolves when none is left, at the latest 3 s after the grace time. */
export type HandOver = (graceMs: number) => Promise<void>

const LOOK_MS = 250
/** For this time after a hand-back, the heartbeats of the other workers may not count the generation yet. */
const TAKING_MS = 1_500
/** A stopped generation only has to publish its last event. */
const STOP_MS = 3_000

/**
 * Creates the hand-over of a worker that stops. A run continues if, at its pace so far, it ends within the grace time
 * (`graceMs`) even if it reaches its output limit. Every other run is handed back as soon as another worker has room
 * for it. Runs that have not ended at the end of the grace time are handed back then.
 */
export function createHandOver(deps: {
  live: () => Iterable<RunningGeneration>
  /** Resolves when nothing runs. */
  idle: () => Promise<void>
  /** Free slots of the other ready workers of this model. */
  roomElsewhere: () => number
  nowMs: () => number
}): HandOver {
  const { live, idle, roomElsewhere, nowMs } = deps

  return async (graceMs) => {
    const endMs = nowMs() + graceMs
    let handed: number[] = []

    function look() {
      const now = nowMs()
      handed = handed.filter((handedMs) => now - handedMs < TAKING_MS)
      let room = roomElsewhere() - handed.length
      for (const run of live()) {
        if (room < 1) return
        if (run.stopReason() !== null || endsWithin(run, endMs - now)) continue
        run.stop('worker-stopping')
        const open = run.choices.filter((choice) => !choice.isEnded())
        handed.push(...open.map(() => now))
        room -= open.length
      }
    }

    look()
    const timer = setInterval(look, LOOK_MS)
    await within(graceMs, idle())
    clearInterval(timer)
    for (const run of live()) run.stop('worker-stopping')
    await within(STOP_MS, idle())
  }
}

/** Returns true if, at the pace of the run so far, all tokens that may still come are generated within `ms`. */
function endsWithin({ output }: RunningGeneration, ms: number): boolean {
  const { tokens, mostTokens, firstMs, lastMs } = output
  if (mostTokens === null || firstMs === null || lastMs === null || tokens < 2) return false
  const gapMs = (lastMs - firstMs) / (tokens - 1)
  return (mostTokens - tokens) * gapMs <= ms
}

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, limitMs)
  await Promise.race([work, promise])
  clearTimeout(timer)
}

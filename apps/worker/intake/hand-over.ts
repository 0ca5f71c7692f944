import type { RunningGeneration } from '../run/running-generation.ts'

/** Ends the runs of a worker that stops, in time; resolves when none is left. */
export type HandOver = (graceMs: number) => Promise<void>

const LOOK_MS = 250
/** Until another worker's heartbeat shows what it took from us. */
const TAKING_MS = 1_500
/** A stopped generation only has to publish its last event. */
const STOP_MS = 3_000

/**
 * Runs whose rest surely ends within the grace run on. The others are handed back as soon as other workers have room for
 * them, as many as there is room, and all that is left at the end of the grace.
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
        handed.push(now)
        room -= 1
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

/** Judged by the tokens that may still come, at the pace of those that came. */
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

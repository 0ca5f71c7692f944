/** Resolves with true if the call was served, with false if it was refused because too many calls waited. */
export type OfferedCall = () => Promise<boolean>

export type Load = {
  /** Served calls per second. */
  readonly perS: number
  /** The latency of each served call, ascending. */
  readonly latenciesMs: readonly number[]
  readonly refused: number
}

/** Keeps `inFlight` calls open: each answer starts the next call. A call that throws ends the run. */
export async function runClosedLoop(options: {
  call: OfferedCall
  inFlight: number
  seconds: number
}): Promise<Load> {
  const { call, inFlight, seconds } = options
  const latenciesMs: number[] = []
  let refused = 0
  const startMs = performance.now()
  const endMs = startMs + seconds * 1_000
  async function follow() {
    for (;;) {
      const sentMs = performance.now()
      if (sentMs >= endMs) return
      if (await call()) {
        latenciesMs.push(performance.now() - sentMs)
      } else {
        refused += 1
        await pauseMs(1)
      }
    }
  }
  await Promise.all(Array.from({ length: inFlight }, follow))
  const tookS = (performance.now() - startMs) / 1_000
  return { perS: latenciesMs.length / tookS, latenciesMs: ascending(latenciesMs), refused }
}

/**
 * Makes calls at random moments, on average `ratePerS` calls a second, without waiting for earlier answers. A latency
 * counts from the moment at which the call was due, so that a stall of this process or of the service shows in all
 * calls that it delayed. Up to a millisecond of each latency is caused by the timer.
 */
export async function runPoisson(options: {
  call: OfferedCall
  ratePerS: number
  seconds: number
}): Promise<Load> {
  const { call, ratePerS, seconds } = options
  const latenciesMs: number[] = []
  let refused = 0
  const answers: Promise<void>[] = []
  const startMs = performance.now()
  const endMs = startMs + seconds * 1_000
  const gapMs = () => (-Math.log(1 - Math.random()) * 1_000) / ratePerS
  async function ask(dueMs: number) {
    if (await call()) latenciesMs.push(performance.now() - dueMs)
    else refused += 1
  }
  for (let dueMs = startMs + gapMs(); dueMs < endMs; dueMs += gapMs()) {
    for (let restMs = dueMs - performance.now(); restMs > 0; restMs = dueMs - performance.now())
      await pauseMs(restMs)
    answers.push(ask(dueMs))
  }
  await Promise.all(answers)
  return { perS: latenciesMs.length / seconds, latenciesMs: ascending(latenciesMs), refused }
}

async function pauseMs(ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, ms)
  await promise
}

const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b)

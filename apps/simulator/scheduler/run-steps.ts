import type { Output, Scheduler } from './scheduler.ts'

export type StepLoop = {
  /** Call it after a sequence was added or aborted: steps start if none is in flight. */
  wake(): void
  /** While paused, no step completes: the engine hangs although everything around it answers. */
  pause(paused: boolean): void
  stop(): void
}

/**
 * Calls `scheduler.step` when it is due. All outputs of a step go to `onOutputs` in one iteration of the event loop. An
 * idle engine has no timer. If steps take no time, the event loop still handles other events between them.
 */
export function createStepLoop(options: {
  scheduler: Scheduler
  onOutputs: (outputs: readonly Output[]) => void
}): StepLoop {
  let cancel: (() => void) | null = null
  let paused = false
  let stopped = false

  function run(): void {
    cancel = null
    if (paused || stopped) return
    const { outputs, nextAt } = options.scheduler.step(performance.now())
    if (outputs.length > 0) options.onOutputs(outputs)
    // `onOutputs` may have woken the loop (a call failed) or stopped it (the engine died). In both cases `schedule`
    // does nothing.
    if (nextAt !== null) schedule(nextAt - performance.now())
  }

  function schedule(delayMs: number): void {
    if (cancel !== null || paused || stopped) return
    if (delayMs <= 0) {
      const immediate = setImmediate(run)
      cancel = () => clearImmediate(immediate)
    } else {
      const timer = setTimeout(run, delayMs)
      cancel = () => clearTimeout(timer)
    }
  }

  function clear(): void {
    cancel?.()
    cancel = null
  }

  return {
    wake: () => schedule(0),
    pause(value) {
      paused = value
      if (paused) clear()
      else schedule(0)
    },
    stop() {
      stopped = true
      clear()
    },
  }
}

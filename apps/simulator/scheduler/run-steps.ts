import type { Output, Scheduler } from './scheduler.ts'

export type StepLoop = {
  /** Something was added or aborted: steps start if none is in flight. */
  wake(): void
  /** While held, no step completes: the engine hangs although everything around it answers. */
  hold(held: boolean): void
  stop(): void
}

/**
 * Calls `scheduler.step` when it is due. All outputs of a step go to `onOutputs` in one turn of the event
 * loop. An idle engine has no timer; one without step time still gives the event loop a turn between steps.
 */
export function createStepLoop(options: {
  scheduler: Scheduler
  onOutputs: (outputs: readonly Output[]) => void
}): StepLoop {
  let cancel: (() => void) | null = null
  let held = false
  let stopped = false

  function run(): void {
    cancel = null
    if (held || stopped) return
    const { outputs, nextAt } = options.scheduler.step(performance.now())
    if (outputs.length > 0) options.onOutputs(outputs)
    // `onOutputs` may have woken the loop (an aborted sibling), or stopped it (the engine died).
    if (nextAt !== null) schedule(nextAt - performance.now())
  }

  function schedule(delayMs: number): void {
    if (cancel !== null || held || stopped) return
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
    hold(value) {
      held = value
      if (held) clear()
      else schedule(0)
    },
    stop() {
      stopped = true
      clear()
    },
  }
}

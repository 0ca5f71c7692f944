import type { RunningGeneration } from './running-generation.ts'

/** Decides when an engine gets a long prompt, so that the prompts of other requests need not wait behind many of them. */
export type Prefills = {
  /**
   * Resolves when the engine may be given the run, or when the run is stopped. `tokens` is the number of tokens of the
   * prompt that the engine has to compute.
   */
  begin(run: PrefilledRun, tokens: number): Promise<void>
  /** Notes that the engine has computed the run's prompt, or that the run is over. May be called without `begin`. */
  end(run: PrefilledRun): void
}

type PrefilledRun = Pick<RunningGeneration, 'signal'>

/** Prompts of which the engine computes at most this many tokens never wait, and are not counted. */
const SHORT_TOKENS = 2_048

/**
 * vLLM computes prompts in the order in which they arrive, whatever their length: a short prompt that comes after a burst
 * of long ones waits until all of these are computed. So the worker gives the engine a further long prompt only while
 * fewer than `mostTokens` tokens of long prompts are being computed there. The other long prompts wait in the worker, in
 * order of arrival, and short prompts overtake them. This does not slow the engine down, because a step computes only a
 * limited number of tokens anyway; `mostTokens` is several times that number.
 */
export function createPrefills(mostTokens: number): Prefills {
  /** The long prompts that the engine has, with their tokens. */
  const computing = new Map<PrefilledRun, number>()
  const waiting = new Map<PrefilledRun, { readonly tokens: number; readonly leave: () => void }>()
  let computed = 0

  const mayBegin = () => computing.size === 0 || computed < mostTokens

  function enter(run: PrefilledRun, tokens: number): void {
    computing.set(run, tokens)
    computed += tokens
  }

  function follow(): void {
    for (const [run, { tokens, leave }] of waiting) {
      if (!mayBegin()) return
      waiting.delete(run)
      enter(run, tokens)
      leave()
    }
  }

  return {
    async begin(run, tokens) {
      if (run.signal.aborted || tokens <= SHORT_TOKENS) return
      if (waiting.size === 0 && mayBegin()) return enter(run, tokens)
      const { promise, resolve: leave } = Promise.withResolvers<void>()
      waiting.set(run, { tokens, leave })
      const stop = () => {
        waiting.delete(run)
        leave()
      }
      run.signal.addEventListener('abort', stop)
      await promise
      run.signal.removeEventListener('abort', stop)
    },
    end(run) {
      const tokens = computing.get(run)
      if (tokens === undefined) return
      computing.delete(run)
      computed -= tokens
      follow()
    },
  }
}

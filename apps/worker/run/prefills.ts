import { LONG_TOKENS } from '#libs/generation-record/needs.ts'
import type { RunningGeneration } from './running-generation.ts'

/**
 * The tokens of long prompts that an engine is computing. vLLM computes prompts in the order in which they arrive: a short
 * prompt that comes after a burst of long ones waits until all of these are computed. So a worker claims a further long
 * prompt only while its engine computes fewer than `mostTokens` tokens of long prompts (`LONG`, `needs.ts`). The other long
 * prompts wait in the queue, where any worker may claim them, and short prompts overtake them. This does not slow the
 * engine down, because a step computes only a limited number of tokens anyway; `mostTokens` is several times that number.
 */
export type Prefills = {
  /**
   * Returns true if the next claim may get a long prompt. Until `end` or `begin` is called for this `claim`, no other claim
   * may, because the tokens of the claimed prompt are not known yet.
   */
  expect(claim: object): boolean
  /** Notes which run a claim has got. */
  claimed(claim: object, run: PrefilledRun): void
  /** Notes that the engine gets a prompt of which it has to compute this many tokens. */
  begin(run: PrefilledRun, tokens: number): void
  /** Notes that the engine has computed the run's prompt, that the run is over, or that the claim has got nothing. */
  end(claimOrRun: object): void
  /** Notes that a claim that could get no long prompt has left some waiting. */
  missed(): void
}

type PrefilledRun = Pick<RunningGeneration, 'signal'>

/** `onRoom`: a long prompt may be claimed again, and some have been left waiting. */
export function createPrefills(mostTokens: number, onRoom: () => void): Prefills {
  /** The long prompts that the engine has, with their tokens. */
  const computing = new Map<object, number>()
  let computed = 0
  /** The claim that may get a long prompt, or its run. */
  let expected: object | null = null
  let hasMissed = false

  const hasRoom = () => expected === null && (computing.size === 0 || computed < mostTokens)

  function follow(): void {
    if (!hasMissed || !hasRoom()) return
    hasMissed = false
    onRoom()
  }

  return {
    expect(claim) {
      if (!hasRoom()) return false
      expected = claim
      return true
    },
    claimed(claim, run) {
      if (expected === claim) expected = run
    },
    begin(run, tokens) {
      if (expected === run) expected = null
      if (tokens > LONG_TOKENS && !run.signal.aborted) {
        computing.set(run, tokens)
        computed += tokens
      }
      follow()
    },
    end(claimOrRun) {
      if (expected === claimOrRun) expected = null
      computed -= computing.get(claimOrRun) ?? 0
      computing.delete(claimOrRun)
      follow()
    },
    missed() {
      hasMissed = true
      follow()
    },
  }
}

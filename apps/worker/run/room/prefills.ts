import { LONG_TOKENS } from '#libs/generation-record/requirements.ts'
import type { RunningGeneration } from '../running-generation.ts'

/**
 * The tokens of long prompts that an engine is computing. vLLM computes prompts in the order in which they arrive: a short
 * prompt that comes after a burst of long ones waits until all of these are computed. So a worker claims a further long
 * prompt only while its engine computes fewer than `mostTokens` tokens of long prompts (`LONG`, `requirements.ts`). The other long
 * prompts wait in the queue, where any worker may claim them, and short prompts overtake them. This does not slow the
 * engine down, because a step computes only a limited number of tokens anyway; `mostTokens` is several times that number.
 */
export type Prefills = {
  /**
   * Returns true if the next claim may get a long prompt. Until `end` or `begin` is called for this `claim`, no other claim
   * may, because the tokens of the claimed prompt are not known yet.
   */
  expect(claim: object): boolean
  /** Passes the place of a claim on to its answer, and then to its run. */
  pass(from: object, to: object): void
  /**
   * Notes that the engine gets a prompt of which it has to compute this many tokens. Returns false, and notes nothing, if
   * the prompt is long, was not claimed as such, and has to wait for others: its caller has sent a history that the engine
   * has not cached, or its tokens were underestimated.
   */
  begin(run: PrefilledRun, tokens: number): boolean
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

  const hasBudget = () => computing.size === 0 || computed < mostTokens
  const hasRoom = () => expected === null && hasBudget()

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
    pass(from, to) {
      if (expected === from) expected = to
    },
    begin(run, tokens) {
      const isLong = tokens > LONG_TOKENS
      if (isLong && expected !== run && !hasBudget()) return false
      if (expected === run) expected = null
      if (isLong && !run.signal.aborted) {
        computing.set(run, tokens)
        computed += tokens
      }
      follow()
      return true
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

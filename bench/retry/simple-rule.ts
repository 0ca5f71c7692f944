import type { createRefusals } from '#apps/gateway/generation/admission/refusals.ts'

const MOST_REMEMBERED_MS = 1_000

/**
 * A simpler rule to compare with. The wait is the time that the engines need for the cost that is too much. The refusal
 * is remembered for half of this wait, but for a second at most, because the queue may move faster.
 */
export const createSimpleRefusals: typeof createRefusals = ({ nowMs }) => {
  const byAccount = new Map<string, { freeMs: number; untilMs: number }>()

  function refuseFor(account: string, waitMs: number): number {
    const untilMs = nowMs() + Math.min(MOST_REMEMBERED_MS, waitMs / 2)
    byAccount.set(account, { freeMs: nowMs() + waitMs, untilMs })
    return waitMs
  }

  return {
    leftMs(account) {
      const known = byAccount.get(account)
      return known === undefined || nowMs() >= known.untilMs ? 0 : known.freeMs - nowMs()
    },
    promisedAhead: () => 0,
    refuse: (account, { ahead, mostAhead, perMs, claimMs }) =>
      refuseFor(account, (ahead - mostAhead) / perMs + claimMs / 2),
    refuseFor,
    admitted() {},
  }
}

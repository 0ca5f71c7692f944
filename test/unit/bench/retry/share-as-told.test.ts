import { expect, test } from 'vitest'
import { createRefusals } from '#apps/gateway/generation/admission/refusals.ts'
import { runs } from '#test/support/long.ts'
import { simulateQueue } from '#test/support/simulate-queue.ts'
import { ENGINES, LOADS, MIXES, toAccounts } from '../../../../bench/retry/loads.ts'
import { shareAsTold } from '../../../../bench/retry/share-as-told.ts'
import { createSimpleRefusals } from '../../../../bench/retry/simple-rule.ts'

const refusal = (saidMs: number, realMs: number) => ({ saidMs, realMs })

test('a retry-after is right within a fifth of the real wait, and within a second', () => {
  expect(shareAsTold([refusal(12_000, 10_000), refusal(8_000, 10_000)])).toBe(1)
  expect(shareAsTold([refusal(12_000, 9_900), refusal(8_000, 10_100)])).toBe(0)
  expect(shareAsTold([refusal(1_000, 0), refusal(1_000, 2_000), refusal(1_000, 2_100)])).toBeCloseTo(2 / 3)
})

test('the longest retry-after does not count, and a share of nothing is an error', () => {
  expect(shareAsTold([refusal(59_000, 90_000), refusal(2_000, 2_000)])).toBe(1)
  expect(() => shareAsTold([refusal(59_000, 59_000)])).toThrow('nothing was refused')
})

// The bar of nine of ten is that of `npm run bench:retry`, which simulates for longer.
test.each(LOADS.slice(0, runs(1, LOADS.length)))(
  'at %f times the load, far more refusals are right than by the simple rule, and no fewer requests are admitted',
  (load) => {
    const [engines] = ENGINES
    const mix = MIXES[1]
    if (engines === undefined || mix === undefined) throw new Error('there are no loads')
    const [simple, ours] = [createSimpleRefusals, createRefusals].map((create) =>
      simulateQueue({
        accounts: toAccounts({ engines, mix, load }),
        slots: engines.slots,
        stepMs: engines.stepMs,
        untilMs: 600_000,
        measureFromMs: 200_000,
        seed: 1,
        createRefusals: create,
      }),
    )
    if (simple === undefined || ours === undefined) throw new Error('nothing was simulated')
    expect(shareAsTold(simple.refusals)).toBeLessThan(0.7)
    expect(shareAsTold(ours.refusals)).toBeGreaterThan(0.85)
    expect(ours.admitted).toBeGreaterThan(0.9 * simple.admitted)
    expect(ours.refusedEnqueues).toBeLessThan(simple.refusedEnqueues / 2)
  },
)

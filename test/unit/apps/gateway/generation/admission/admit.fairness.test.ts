import { describe, expect, test } from 'vitest'
import { runs } from '../../../../../support/long.ts'
import { simulateQueue, type SimulatedAccount } from '../../../../../support/simulate-queue.ts'

const account = (id: string, fields: Partial<SimulatedAccount> = {}): SimulatedAccount => ({
  id,
  weight: 1,
  clients: 40,
  fromMs: 0,
  requests: Infinity,
  repeats: true,
  size: fixed(300, 200),
  ...fields,
})

const fixed = (prompt: number, output: number) => () => ({ prompt, output })

/** Sizes with a long tail, as answers have. */
const varied = (meanPrompt: number, meanOutput: number) => (random: () => number) => ({
  prompt: 1 + Math.round(-Math.log(1 - random()) * meanPrompt),
  output: 1 + Math.round(-Math.log(1 - random()) * meanOutput),
})

const SLOTS = 8
const STEP_MS = 10
const SEEDS = Array.from({ length: runs(1, 8) }, (_, at) => at + 1)

const simulate = (accounts: readonly SimulatedAccount[], seed: number, untilMs = 1_000_000) =>
  simulateQueue({ accounts, slots: SLOTS, stepMs: STEP_MS, untilMs, measureFromMs: 200_000, seed })

/** Returns how many tokens the first account used for each token of the second one. */
function ratioOf(accounts: readonly SimulatedAccount[], seed: number): number {
  const { tokens } = simulate(accounts, seed)
  const [first, second] = accounts.map(({ id }) => tokens.get(id) ?? 0)
  expect(second).toBeGreaterThan(100_000)
  return (first ?? 0) / (second ?? 1)
}

describe.each(SEEDS)('seed %i', (seed) => {
  test.each([
    ['requests of one size', varied(300, 200), varied(300, 200)],
    ['fifty times larger requests', varied(3_000, 500), varied(50, 20)],
    ['long answers beside long prompts', varied(20, 600), varied(600, 20)],
  ])('two equal accounts get equal tokens, not equal requests: %s', (_, large, small) => {
    const both = [account('a', { size: large }), account('b', { clients: 60, size: small })]
    const ratio = ratioOf(both, seed)
    expect(ratio).toBeGreaterThan(0.95)
    expect(ratio).toBeLessThan(1.05)
  })

  test.each([
    ['with larger requests', varied(600, 300), varied(100, 50)],
    ['with smaller requests', varied(100, 50), varied(600, 300)],
  ])('an account of weight 3 gets three times the tokens: %s', (_, heavy, light) => {
    const both = [
      account('a', { weight: 3, clients: 60, size: heavy }),
      account('b', { clients: 60, size: light }),
    ]
    const ratio = ratioOf(both, seed)
    expect(ratio).toBeGreaterThan(3 * 0.95)
    expect(ratio).toBeLessThan(3 * 1.05)
  })

  test.each([
    ['10,000 requests', 10_000, fixed(300, 200), 2_030],
    ['100 huge ones', 100, fixed(30_000, 700), 10_000],
  ])(
    'a flood of %s delays another account by what already runs at most',
    (_, ...[clients, size, longestMs]) => {
      const flood = account('flood', { clients, requests: 1, repeats: false, size })
      const light = account('light', { clients: 1, fromMs: 2_000, requests: 8, size: fixed(100, 50) })
      const { waitsMs } = simulate([flood, light], seed, 60_000)
      const waits = waitsMs.get('light') ?? []
      expect(waits).toHaveLength(8)
      expect(Math.max(...waits)).toBeLessThanOrEqual(longestMs)
      expect(Math.max(...(waitsMs.get('flood') ?? []))).toBeGreaterThan(1.5 * longestMs)
    },
  )

  test('a new account does not wait for what an idle one has used, and both are equal from then on', () => {
    const size = varied(500, 300)
    const history = account('old', { clients: 8, requests: 10, size: fixed(20_000, 100) })
    const both = [account('old', { fromMs: 200_000, size }), account('new', { fromMs: 200_000, size })]
    const { waitsMs, tokens } = simulate([history, ...both], seed)
    expect(waitsMs.get('new')?.[0]).toBeLessThan(10_000)
    const ratio = (tokens.get('old') ?? 0) / (tokens.get('new') ?? 1)
    expect(ratio).toBeGreaterThan(0.95)
    expect(ratio).toBeLessThan(1.05)
  })
})

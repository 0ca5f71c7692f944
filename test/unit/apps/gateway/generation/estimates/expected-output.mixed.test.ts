import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  createExpectedOutput,
  type ExpectedOutput,
} from '#apps/gateway/generation/estimates/expected-output.ts'
import { createPaidOutput, type PaidOutput, type PassOn } from '#apps/worker/run/paid/paid-output.ts'
import { runs } from '#test/support/long.ts'

// Simulates mixed calls of accounts with smaller and larger balances, in tokens: an output token costs one credit, and
// prompts cost nothing. The expectation and the worker's part are the real ones. Holds follow the rules of
// `reserve.sql`, `extend.sql` and `reserve.ts`, which other tests prove.

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const STEP_MS = 100
const TOKENS_A_STEP = 5
/** The number of steps from the end of a generation until its hold is free. */
const SETTLE_STEPS = 2
const WAIT_STEPS = 30
const MAX_OUTPUT = 4_096
const ACCOUNTS = 20
/** The mean number of generations of one account that run at once. */
const AT_ONCE = 3
/** The mean of these lengths, in units of their median. */
const MEAN = 1.28

type Call = { readonly length: number; readonly limit: number; readonly sinceStep: number }
type Account = {
  readonly name: string
  readonly median: number
  /** The credits that are added whenever little is left. */
  readonly topUp: number
  posted: number
  held: number
  readonly waiting: Call[]
}
type Run = {
  readonly account: Account
  readonly call: Call
  readonly freeAtStart: number
  readonly paid: PaidOutput
  readonly passOn: PassOn
  hold: number
  made: number
  given: number
}

/** Creates a random generator (Mulberry32) with a seed, so that each run has the same calls. */
function createRandom(seed: number) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function simulate(calls: number, output: ExpectedOutput) {
  const random = createRandom(7)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const accounts = Array.from({ length: ACCOUNTS }, (_, at): Account => {
    const median = 100 * 2 ** (at % 4)
    const topUp = median * 15 * 4 ** (at % 3)
    return { name: String(at), median, topUp, posted: topUp, held: 0, waiting: [] }
  })
  const running = new Set<Run>()
  const settling: { atStep: number; run: Run }[] = []
  const asks: { run: Run; moreTokens: number }[] = []
  const seen = { begun: 0, refused: 0, whole: 0, cut: 0, cutThoughPaid: 0, extends: 0 }

  const freeOf = ({ posted, held }: Account) => posted - held

  /**
   * Draws a call. A fifth of the calls has its real length as the limit, a fifth has ten times as much, and the others
   * have no limit.
   */
  function newCall({ median }: Account, step: number): Call {
    const length = Math.round(median * Math.exp(normal() * 0.7))
    const kind = random()
    const limit = kind < 0.2 ? length : kind < 0.4 ? length * 10 : MAX_OUTPUT
    const within = (tokens: number) => Math.max(1, Math.min(MAX_OUTPUT, tokens))
    return { length: within(length), limit: within(limit), sinceStep: step }
  }

  function hold(account: Account, call: Call, least: number): number {
    const free = freeOf(account)
    const { likely } = output.expect('model', account.name)
    const target = call.limit * 8 <= free ? call.limit : Math.min(call.limit, likely)
    const granted = Math.min(target, free)
    return granted < Math.min(target, least) ? 0 : granted
  }

  function admit(account: Account, step: number) {
    for (;;) {
      const [call] = account.waiting
      if (call === undefined) return
      const { likely, usual } = output.expect('model', account.name)
      const isLast = step - call.sinceStep >= WAIT_STEPS || account.held === 0
      const granted = hold(account, call, isLast ? usual : likely)
      if (granted === 0 && !isLast) return
      account.waiting.shift()
      if (granted === 0) seen.refused += 1
      else start(account, call, granted)
    }
  }

  function start(account: Account, call: Call, granted: number) {
    const run: Run = {
      account,
      call,
      freeAtStart: freeOf(account),
      hold: granted,
      made: 0,
      given: 0,
      passOn(ids) {
        run.given += ids.length
        return ids.length
      },
      paid: createPaidOutput({
        written: 0,
        paidTokens: granted,
        mostTokens: call.limit,
        choices: 1,
        ask: (moreTokens) => void asks.push({ run, moreTokens }),
      }),
    }
    account.held += granted
    running.add(run)
    seen.begun += 1
  }

  function grow(run: Run, moreTokens: number) {
    const { account, paid } = run
    seen.extends += 1
    const more = Math.min(moreTokens, freeOf(account))
    account.held += more
    run.hold += more
    if (more > 0) paid.raise(run.hold, false)
    else if (account.held <= run.hold) paid.raise(run.hold, true)
  }

  function generate(run: Run, step: number) {
    const { account, call, paid } = run
    const whole = Math.min(call.length, call.limit)
    const count = Math.min(TOKENS_A_STEP, whole - run.made)
    run.made += count
    if (count > 0)
      paid.take(
        Array.from({ length: count }, () => 1),
        run.passOn,
      )
    if (run.given < whole && !paid.isCut(run.passOn)) return
    running.delete(run)
    paid.close()
    const isCut = run.given < whole
    if (isCut) seen.cut += 1
    else seen.whole += 1
    if (isCut && run.freeAtStart >= whole) seen.cutThoughPaid += 1
    output.learn('model', account.name, { tokens: run.given, isCut: isCut || run.given < call.length })
    settling.push({ atStep: step + SETTLE_STEPS, run })
  }

  for (let step = 0, asked = 0; asked < calls || running.size > 0; step += 1) {
    for (const { run } of settling.splice(0, settling.filter(({ atStep }) => atStep <= step).length)) {
      run.account.posted -= run.given
      run.account.held -= run.hold
    }
    for (const account of accounts) {
      expect(Math.min(account.held, freeOf(account))).toBeGreaterThanOrEqual(0)
      if (account.posted < account.median * 3) account.posted += account.topUp
      const meanSteps = (account.median * MEAN) / TOKENS_A_STEP
      if (asked < calls && random() < AT_ONCE / meanSteps) {
        asked += 1
        account.waiting.push(newCall(account, step))
      }
      admit(account, step)
    }
    for (const { run, moreTokens } of asks.splice(0)) if (running.has(run)) grow(run, moreTokens)
    for (const run of running) generate(run, step)
    vi.advanceTimersByTime(STEP_MS)
  }
  return seen
}

test('of mixed calls few are cut that the balance paid at their start, and few holds grow', () => {
  const calls = runs(4_000, 10_000)
  const seen = simulate(calls, createExpectedOutput())
  expect(seen.begun + seen.refused).toBe(calls)
  expect(seen.cutThoughPaid / seen.begun).toBeLessThan(0.005)
  expect(seen.extends / seen.begun).toBeLessThan(0.1)
  // Otherwise credits were never short, and the test would show nothing.
  expect(seen.cut).toBeGreaterThan(0)
  expect(seen.refused).toBeGreaterThan(0)
})

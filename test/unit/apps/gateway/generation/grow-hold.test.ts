import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Dispatched } from '#apps/gateway/generation/dispatch.ts'
import { createGrowHold } from '#apps/gateway/generation/grow-hold.ts'
import { createHoldShares } from '#apps/gateway/generation/hold-shares.ts'
import type { ResizeCall, HoldAnswer } from '#libs/billing-client/billing-calls.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { createStreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { AnsweredHold } from '#libs/event-bus/worker-control.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { generationJob } from '../../../../support/generation-job.ts'

const grantOf = (nano: bigint, outputTokens: number, clamped = false): HoldAnswer => ({
  status: 'granted',
  amountNano: toNanoCredits(nano),
  outputTokens,
  clamped,
  prices: { inputPriceNano: 1n, cachedInputPriceNano: 1n, outputPriceNano: 2n },
  receipt: `for ${nano}`,
})
const shortBy = (status: 'insufficient-credits' | 'key-limit', heldNano: bigint): HoldAnswer => ({
  status,
  availableNano: toNanoCredits(0n),
  heldNano: toNanoCredits(heldNano),
})

/** Sets up a generation on worker-1 with a hold of 500 nano-credits for 40 tokens. */
function setUp(answer: () => Promise<HoldAnswer>, choices = 1) {
  const extended: ResizeCall[] = []
  const answered: [string, AnsweredHold][] = []
  const growths: string[] = []
  let job = generationJob({ id: choices > 1 ? 'g1+1' : 'g1' })
  const shares = createHoldShares({ ...job.hold, amountNano: '500', outputTokens: 40 }, choices)
  const choice = choices - 1
  job = { ...job, hold: shares.of(choice) }
  const { inbox, feed } = createStreamInbox(7, () => {})
  const event = {
    type: 'generation-claimed',
    worker: 'worker-1',
    promptTokens: 3,
    after: 0,
    guided: false,
  } as const
  feed.accept({ stream: 7, epoch: 1, seq: 1, event, ids: [] }, 'worker-1')
  const dispatched: Pick<Dispatched, 'job' | 'growHold'> = {
    job: () => job,
    growHold: (hold) => void (job = { ...job, hold }),
  }
  const grow = createGrowHold({
    billing: {
      async resize(call) {
        extended.push(call)
        return await answer()
      },
    },
    answerHold: (worker, hold) => answered.push([worker, hold]),
    onGrowth: (growth) => growths.push(growth),
    log: pino({ level: 'silent' }),
  })
  const short = (amountNano = '500') =>
    grow({ dispatched, inbox, shares, choice }, { type: 'generation-short', amountNano, moreTokens: 256 })
  return { short, inbox, extended, answered, growths, shares, job: () => job }
}

const answerOf = (amountNano: string, isFinal: boolean) => [
  'worker-1',
  { stream: 7, epoch: 1, amountNano, isFinal },
]

test('the hold grows by what the worker wants, and the worker and the settlement get the new one', async () => {
  const { short, extended, answered, growths, job } = setUp(async () => grantOf(1_000n, 296))
  short()
  await expect.poll(() => answered).toEqual([answerOf('1000', false)])
  expect(extended).toEqual([{ reservationId: job().id, outputTokens: 296 }])
  expect(job().hold).toMatchObject({ amountNano: '1000', outputTokens: 296, receipt: 'for 1000' })
  expect(growths).toEqual(['granted'])
})

test('a worker that has missed the answer gets it again, and nothing more is held', async () => {
  const { short, extended, answered } = setUp(async () => grantOf(1_000n, 296))
  short()
  await expect.poll(() => answered).toHaveLength(1)
  short()
  expect([extended.length, answered]).toEqual([1, [answerOf('1000', false), answerOf('1000', false)]])
})

test('while one question is under way the next is not sent', async () => {
  const { promise, resolve } = Promise.withResolvers<HoldAnswer>()
  const { short, extended, answered } = setUp(async () => await promise)
  short()
  short()
  resolve(grantOf(1_000n, 296))
  await expect.poll(() => answered).toHaveLength(1)
  expect(extended).toHaveLength(1)
})

test.each([
  ['credits that others hold', shortBy('insufficient-credits', 501n)],
  ['a spend limit that others of its key hold', shortBy('key-limit', 501n)],
])('%s may become free: without an answer the worker asks again', async (_, answer) => {
  const { short, answered, growths } = setUp(async () => answer)
  short()
  await expect.poll(() => growths).toEqual(['short'])
  expect(answered).toEqual([])
})

test.each<[string, HoldAnswer]>([
  ['credits that nobody else holds', shortBy('insufficient-credits', 500n)],
  ['a spend limit that nobody else holds', shortBy('key-limit', 500n)],
  ['a revoked key', { status: 'key-invalid' }],
  ['a hold that is closed', { status: 'conflict' }],
  ['a grant of no more than before', grantOf(500n, 40)],
])('%s: the worker learns that no more will come', async (_, answer) => {
  const { short, answered, growths, job } = setUp(async () => answer)
  short()
  await expect.poll(() => answered).toEqual([answerOf('500', true)])
  expect([growths, job().hold.amountNano]).toEqual([['refused'], '500'])
})

test('while billing is away nothing is answered, and the next question is sent', async () => {
  const { short, extended, answered, growths } = setUp(async () => {
    throw new BillingUnavailable('no answer within 2000 ms')
  })
  short()
  await expect.poll(() => growths).toEqual(['unavailable'])
  await expect
    .poll(() => {
      short()
      return extended.length
    })
    .toBeGreaterThan(1)
  expect(answered).toEqual([])
})

test('an answer goes to the worker and the epoch that asked, also if the generation has moved on', async () => {
  const { promise, resolve } = Promise.withResolvers<HoldAnswer>()
  const { short, inbox, answered, job } = setUp(async () => await promise)
  short()
  inbox.raise({ restart: false })
  short()
  resolve(grantOf(1_000n, 296))
  await expect.poll(() => answered).toEqual([answerOf('1000', false)])
  expect(job().hold.amountNano).toBe('1000')
})

test('a choice lets the hold of all choices grow, and its worker learns its own share', async () => {
  const { short, extended, answered, shares } = setUp(async () => grantOf(1_012n, 296), 2)
  short()
  await expect.poll(() => answered.length).toBe(1)
  expect(extended).toEqual([{ reservationId: 'g1', outputTokens: 296, choices: 2 }])
  const share = { outputTokens: 276, otherTokens: 20 }
  expect(answered).toMatchObject([['worker-1', { amountNano: '1012', share, isFinal: false }]])
  expect(shares.of(1)).toMatchObject({ amountNano: '1012', ...share })
  expect(shares.of(0)).toMatchObject({ outputTokens: 20, otherTokens: 276 })
})

test('a choice takes what a complete choice has left, without a call to billing', async () => {
  const { short, extended, answered, growths, shares } = setUp(async () => grantOf(1_012n, 296), 2)
  shares.completed(0, { promptTokens: 3, completionTokens: 5 })
  short()
  const share = { outputTokens: 35, otherTokens: 5 }
  await expect
    .poll(() => answered)
    .toMatchObject([['worker-1', { amountNano: '500', share, isFinal: false }]])
  expect([extended, growths]).toEqual([[], ['granted']])
})

test('without credits, a choice asks again as long as another choice may leave tokens', async () => {
  const { short, answered, growths, shares } = setUp(async () => shortBy('insufficient-credits', 500n), 2)
  short()
  await expect.poll(() => growths).toEqual(['short'])
  shares.completed(0, { promptTokens: 3, completionTokens: 20 })
  short()
  await expect.poll(() => growths).toEqual(['short', 'refused'])
  expect(answered.map(([, { isFinal }]) => isFinal)).toEqual([false, true])
})

test('a choice learns its share with every answer: the answer that made it larger may be lost', async () => {
  const { short, answered, growths, shares } = setUp(async () => shortBy('insufficient-credits', 500n), 3)
  shares.completed(0, { promptTokens: 3, completionTokens: 4 })
  short()
  await expect.poll(() => growths).toEqual(['granted'])
  short()
  await expect.poll(() => growths).toEqual(['granted', 'short'])
  const share = { outputTokens: 23, otherTokens: 17 }
  expect(answered).toMatchObject([
    ['worker-1', { amountNano: '500', share, isFinal: false }],
    ['worker-1', { amountNano: '500', share, isFinal: false }],
  ])
})

test('tokens that another choice leaves while billing is asked are not refused', async () => {
  const { promise, resolve } = Promise.withResolvers<HoldAnswer>()
  const { short, extended, answered, growths, shares } = setUp(async () => await promise, 2)
  short()
  await expect.poll(() => extended).toHaveLength(1)
  shares.completed(0, { promptTokens: 3, completionTokens: 8 })
  resolve(shortBy('insufficient-credits', 500n))
  await expect.poll(() => growths).toEqual(['short'])
  short()
  await expect.poll(() => growths).toEqual(['short', 'granted'])
  expect(answered.at(-1)).toMatchObject(['worker-1', { share: { outputTokens: 32 }, isFinal: false }])
})

test('the ask of a choice that has ended meanwhile takes nothing', async () => {
  const { short, extended, shares } = setUp(async () => grantOf(1_012n, 296), 2)
  const { promise, resolve } = Promise.withResolvers<void>()
  const before = shares.inTurn(async () => await promise)
  short()
  shares.completed(1, { promptTokens: 3, completionTokens: 12 })
  resolve()
  await before
  await shares.inTurn(async () => undefined)
  expect([extended, shares.takeSpare(0, 100)]).toEqual([[], 8])
})

import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Dispatched } from '#apps/gateway/generation/dispatch/dispatch.ts'
import { createGrowHold } from '#apps/gateway/generation/holds/grow-hold.ts'
import type { ResizeCall, HoldAnswer } from '#libs/billing-client/billing-calls.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { createStreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { AnsweredHold } from '#libs/event-bus/worker-control.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { generationJob } from '../../../../../support/generation-job.ts'

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
function setUp(answer: () => Promise<HoldAnswer>, choices?: number) {
  const extended: ResizeCall[] = []
  const answered: [string, AnsweredHold][] = []
  const growths: string[] = []
  const plain = generationJob({ ...(choices !== undefined && { choices }) })
  let job = { ...plain, hold: { ...plain.hold, amountNano: '500', outputTokens: 40 } }
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
    grow({ dispatched, inbox }, { type: 'generation-short', amountNano, moreTokens: 256 })
  return { short, inbox, extended, answered, growths, job: () => job }
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

test('the hold of several choices grows as one, within the limit of all', async () => {
  const { short, extended, answered, job } = setUp(async () => grantOf(1_012n, 296), 2)
  short()
  await expect.poll(() => answered).toEqual([answerOf('1012', false)])
  expect(extended).toEqual([{ reservationId: job().id, outputTokens: 296, choices: 2 }])
})

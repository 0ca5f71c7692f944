import { describe, expect, test } from 'vitest'
import { createInputEstimate } from '#apps/gateway/generation/estimates/estimate-input.ts'
import { createReserve } from '#apps/gateway/generation/holds/reserve.ts'
import type { HoldAnswer, ReserveCall, ResizeCall } from '#libs/billing-client/billing-calls.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { generationCall } from '../../../../../support/generation-call.ts'
import { generationJob } from '../../../../../support/generation-job.ts'
import { modelSpec } from '../../../../../support/model-spec.ts'

const TERMS = { outputTokens: 100, deadlineMs: 1_000 }
/** The difference between the queue Redis' clock and this process's monotonic clock. */
const QUEUE_AHEAD_MS = 1_800_000_000_000

function setUp(answer: () => HoldAnswer, { line = '', hopeless = false } = {}) {
  const calls: ReserveCall[] = []
  const replaced: ResizeCall[] = []
  const released: string[] = []
  const short: string[] = []
  const waited: string[] = []
  const reserve = createReserve({
    billing: {
      async reserve(call) {
        calls.push(call)
        return answer()
      },
      async resize(call) {
        replaced.push(call)
        return answer()
      },
    },
    inputEstimate: createInputEstimate(),
    expectedOutput: { expect: () => ({ likely: 40, usual: 15, ownUsual: 10, isOwn: true, mean: 20 }) },
    creditLine: {
      open: (...names) => names.find((name) => name === line) ?? null,
      // Asks at once, after a second, after three seconds and at the end.
      async wait({ name }, { refused }, ask) {
        waited.push(name)
        let latest = refused
        const notes = { latest: () => latest, note: (noted: typeof refused) => void (latest = noted) }
        for (const waitedMs of [0, 1_000, 3_000]) {
          const answered = await ask(notes, { waitedMs, leftMs: 30_000 - waitedMs, isOver: false })
          if (answered !== null) return answered
          latest = null
        }
        return await ask(notes, { waitedMs: 30_000, leftMs: 0, isOver: true })
      },
    },
    runningHolds: { comingBack: (_, { heldNano }) => (hopeless ? 0n : heldNano) },
    nowMs: () => 0,
    releaseHold: (id) => released.push(id),
    toQueueMs: (ownMs) => ownMs + QUEUE_AHEAD_MS,
    onShortage: ({ keyId }) => short.push(keyId),
  })
  return { reserve, calls, replaced, released, short, waited }
}

const granted: HoldAnswer = {
  status: 'granted',
  amountNano: toNanoCredits(500n),
  outputTokens: 100,
  clamped: true,
  prices: { inputPriceNano: 1n, cachedInputPriceNano: 1n, outputPriceNano: 2n },
  receipt: 'signed',
}

test('a granted hold travels as text, with the prices that turn it into tokens', async () => {
  const { reserve, released } = setUp(() => granted)
  expect(await reserve.estimated(generationCall(), TERMS)).toEqual({
    amountNano: '500',
    outputTokens: 100,
    inputPriceNano: '1',
    outputPriceNano: '2',
    cachedInputPriceNano: '1',
    clamped: true,
    receipt: 'signed',
  })
  expect(released).toEqual([])
})

test('an estimate beyond the context window does not refuse a prompt that may fit', async () => {
  const { reserve, calls } = setUp(() => granted)
  const { request } = generationCall()
  const long = { ...request, messages: [{ role: 'user' as const, content: 'x'.repeat(100_000) }] }
  await reserve.estimated(generationCall({ request: long }), TERMS)
  expect(calls[0]?.inputTokens).toBe(4_096 - 100)
})

test('a hold counts the time that the engine takes to compile the answer’s schema as input', async () => {
  const { reserve, calls } = setUp(() => granted)
  const { request } = generationJob()
  const schema = { type: 'object', description: 'x'.repeat(4_000) }
  const formatted = { ...request, outputFormat: { type: 'json-schema' as const, schema } }
  await reserve.estimated(generationCall(), TERMS)
  await reserve.estimated(generationCall({ request: formatted }), TERMS)
  const [plain, constrained] = calls.map(({ inputTokens }) => inputTokens)
  expect(constrained).toBeGreaterThanOrEqual((plain ?? Infinity) + 1_000)
})

test('each input to embed has a context window of its own, and no output is reserved', async () => {
  const { reserve, calls } = setUp(() => granted)
  const model = modelSpec({
    kind: 'embedding',
    maxOutputTokens: 0,
    embedding: { dimensions: 8, matryoshka: false },
  })
  const request = { kind: 'embedding' as const, inputs: ['x'.repeat(50_000), 'y'.repeat(50_000)] }
  const call = generationCall({ request, model })
  await reserve.estimated(call, { ...TERMS, outputTokens: 0 })
  expect(calls[0]).toMatchObject({ inputTokens: 2 * 4_096, outputTokens: 0 })
})

test('an exact hold is for the output that the caller wanted: nothing for embeddings, at least a token for a chat', async () => {
  const { reserve, replaced } = setUp(() => granted)
  const job = generationJob({ maxOutputTokens: 100, contextWindow: 4_096 })
  await reserve.exact({ ...job, maxOutputTokens: 0 }, 5_000)
  await reserve.exact(job, 5_000)
  await reserve.exact(job, 10)
  expect(replaced.map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens])).toEqual([
    [5_000, 0],
    [5_000, 1],
    [10, 100],
  ])
})

test('without an answer of billing it is 503, and the hold that may exist is released', async () => {
  const call = generationCall()
  const { reserve, released } = setUp(() => {
    throw new BillingUnavailable('no answer within 2000 ms')
  })
  await expect(reserve.estimated(call, TERMS)).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(released).toEqual([call.id])
})

test('a refusal for want of credits is reported, a grant is not: the caller may be able to pay for nothing', async () => {
  const few = { availableNano: toNanoCredits(0n), heldNano: toNanoCredits(0n) }
  const answers: HoldAnswer[] = [
    granted,
    { status: 'insufficient-credits', ...few },
    { status: 'key-limit', ...few },
    { status: 'key-rate', retryAfterS: 1 },
  ]
  const { reserve, short } = setUp(() => answers.shift() ?? granted)
  const reported: number[] = []
  for (let turn = 0; turn < 4; turn += 1) {
    await reserve.estimated(generationCall(), TERMS).catch(() => null)
    reported.push(short.length)
  }
  expect(reported).toEqual([0, 1, 2, 2])
})

test('too few credits are 402, with the credits that are available and held', async () => {
  const { reserve, released } = setUp(() => ({
    status: 'insufficient-credits',
    availableNano: toNanoCredits(1_500_000_000n),
    heldNano: toNanoCredits(7n),
  }))
  await expect(reserve.estimated(generationCall(), TERMS)).rejects.toMatchObject({
    code: 'insufficient_credits',
    message: 'Not enough credits for this request: 1.5 available, 0.000000007 held by running requests.',
  })
  expect(released).toEqual([])
})

test('a key that has been revoked is 401', async () => {
  const { reserve } = setUp(() => ({ status: 'key-invalid' }))
  await expect(reserve.estimated(generationCall(), TERMS)).rejects.toMatchObject({ code: 'invalid_key' })
})

test('a reservation that billing was too busy to make is refused, and no hold is released', async () => {
  const { reserve, released } = setUp(() => {
    throw new BillingUnavailable('too many calls wait', { nothingDone: true })
  })
  await expect(reserve.estimated(generationCall(), TERMS)).rejects.toMatchObject({
    code: 'model_unavailable',
  })
  expect(released).toEqual([])
})

describe('credits that others hold', () => {
  /** Returns a refusal. All credits together, held ones included, pay for the prompt and a token of output. */
  const short = (fields: {
    available: bigint
    held: bigint
    status?: 'insufficient-credits' | 'key-limit'
  }): HoldAnswer => ({
    status: fields.status ?? 'insufficient-credits',
    availableNano: toNanoCredits(fields.available),
    heldNano: toNanoCredits(fields.held),
  })
  const held = short({ available: 0n, held: 1_000_000_000n })
  const leasts = (calls: readonly ReserveCall[]) => calls.map(({ rolling }) => rolling?.leastTokens)

  test('are waited for: the request is repeated as it was, and granted when they are free', async () => {
    const answers = [held, held, granted]
    const { reserve, calls, waited } = setUp(() => answers.shift() ?? granted)
    const call = generationCall()
    expect(await reserve.estimated(call, TERMS)).toMatchObject({ amountNano: '500' })
    expect(waited).toEqual([call.caller.accountId])
    expect([calls[1], calls.length]).toEqual([calls[0], 3])
    expect(calls[0]?.rolling).toEqual({ expectedTokens: 40, leastTokens: 40 })
  })

  test('that pay for the usual output are accepted after three seconds', async () => {
    const model = modelSpec({ inputPriceNano: '0', outputPriceNano: '1000000' })
    const usual = short({ available: 20n, held: 1_000n })
    const answers = [usual, usual, granted]
    const { reserve, calls } = setUp(() => answers.shift() ?? granted)
    await reserve.estimated(generationCall({ model }), TERMS)
    expect(leasts(calls)).toEqual([40, 40, 15])
  })

  test('that do not even pay for the usual output at the end are 402', async () => {
    const { reserve, calls, short: reported } = setUp(() => held)
    await expect(reserve.estimated(generationCall(), TERMS)).rejects.toMatchObject({
      code: 'insufficient_credits',
    })
    expect([leasts(calls), reported.length]).toEqual([[40, 40, 15, 15], 1])
  })

  test('are not waited for where they would not be enough, nor where no running request will give them back', async () => {
    for (const [answer, hopeless] of [
      [short({ available: 3n, held: 0n }), false],
      [short({ available: 3n, held: 3n }), false],
      [held, true],
    ] as const) {
      const { reserve, calls } = setUp(() => answer, { hopeless })
      await expect(reserve.estimated(generationCall(), TERMS)).rejects.toMatchObject({
        code: 'insufficient_credits',
      })
      expect(calls.length).toBe(1)
    }
  })

  test('are not waited for where nobody holds any: as little as can be paid is granted', async () => {
    const answers = [short({ available: 1_000_000_000n, held: 0n }), granted]
    const { reserve, calls, waited } = setUp(() => answers.shift() ?? granted)
    await reserve.estimated(generationCall(), TERMS)
    expect([leasts(calls), waited]).toEqual([[40, 1], []])
  })

  test('that have been spent meanwhile end the wait: what the account usually needs is enough', async () => {
    const answers = [held, short({ available: 1_000_000_000n, held: 0n }), granted]
    const { reserve, calls } = setUp(() => answers.shift() ?? granted)
    await reserve.estimated(generationCall(), TERMS)
    expect(leasts(calls)).toEqual([40, 40, 1])
    const spent = setUp(() => (spent.calls.length === 1 ? held : short({ available: 3n, held: 0n })))
    await expect(spent.reserve.estimated(generationCall(), TERMS)).rejects.toMatchObject({
      code: 'insufficient_credits',
    })
    expect(leasts(spent.calls)).toEqual([40, 40])
  })

  test('of a spend limit are waited for in the line of the key', async () => {
    const answers = [short({ available: 0n, held: 1_000_000_000n, status: 'key-limit' }), granted]
    const { reserve, waited } = setUp(() => answers.shift() ?? granted)
    const call = generationCall()
    await reserve.estimated(call, TERMS)
    expect(waited).toEqual([call.caller.keyId])
  })

  test('are waited for behind those who wait already, without a question before', async () => {
    const call = generationCall()
    const { reserve, calls, waited } = setUp(() => granted, { line: call.caller.accountId })
    await reserve.estimated(call, TERMS)
    expect([calls.length, waited]).toEqual([1, [call.caller.accountId]])
  })
})

test('an exact hold that grows stays one', async () => {
  const { reserve, replaced } = setUp(() => granted)
  const job = generationJob({ maxOutputTokens: 100 })
  await reserve.exact({ ...job, hold: { ...job.hold, outputTokens: 40 } }, 10)
  expect(replaced[0]?.outputTokens).toBe(40)
})

test('no more output is expected than is wanted, and none of embeddings', async () => {
  const { reserve, calls } = setUp(() => granted)
  await reserve.estimated(generationCall(), { ...TERMS, outputTokens: 8 })
  await reserve.estimated(generationCall(), { ...TERMS, outputTokens: 0 })
  expect(calls.map(({ rolling }) => rolling)).toEqual([{ expectedTokens: 8, leastTokens: 8 }, undefined])
})

describe('several choices', () => {
  test('one reservation wants the prompt once and the output of all, and expects as much of each', async () => {
    const { reserve, calls } = setUp(() => granted)
    await reserve.estimated(generationCall(), TERMS)
    await reserve.estimated(generationCall({ choices: 3 }), TERMS)
    const [one, three] = calls
    expect(three).toEqual({
      ...one,
      reservationId: three?.reservationId,
      outputTokens: 300,
      choices: 3,
      rolling: { expectedTokens: 120, leastTokens: 120 },
    })
  })

  test('the least that is accepted pays for one token of each', async () => {
    const short: HoldAnswer = {
      status: 'insufficient-credits',
      availableNano: toNanoCredits(100_000n),
      heldNano: toNanoCredits(0n),
    }
    const { reserve, calls } = setUp(() => (calls.length > 1 ? granted : short))
    await reserve.estimated(generationCall({ choices: 8 }), TERMS)
    expect(calls.map(({ rolling }) => rolling?.leastTokens)).toEqual([320, 8])
  })

  test('the hold of all is replaced', async () => {
    const { reserve, replaced } = setUp(() => granted)
    const job = generationJob({ id: 'g1', maxOutputTokens: 100, contextWindow: 4_096 })
    await reserve.exact({ ...job, choices: 3 }, 10)
    await reserve.exact({ ...job, choices: 3 }, 4_090)
    expect(replaced).toEqual([
      { reservationId: 'g1', inputTokens: 10, outputTokens: 100, choices: 3 },
      { reservationId: 'g1', inputTokens: 4_090, outputTokens: 18, choices: 3 },
    ])
  })
})

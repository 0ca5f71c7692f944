import * as fc from 'fast-check'
import { CHAT, EMBED, ODD } from '../support/billing-database.ts'

// There are few accounts, keys and reservations, so that steps affect each other. Steps refer to them by index.

export const ACCOUNTS = 2
/** For each key, the index of its account. */
export const KEYS = [0, 0, 1]
export const RESERVATIONS = 8
export const MODELS = [CHAT, ODD, EMBED]

/** The prices that price changes publish. With most of them, a charge has a fraction of a nano-credit. */
export const PRICES = [
  { inputPriceNano: 2_000_000n, cachedInputPriceNano: 1_000_000n, outputPriceNano: 10_000_000n },
  { inputPriceNano: 333_333n, cachedInputPriceNano: 7n, outputPriceNano: 1_234_567n },
  { inputPriceNano: 1n, cachedInputPriceNano: 1n, outputPriceNano: 99_999n },
  { inputPriceNano: 0n, cachedInputPriceNano: 0n, outputPriceNano: 20_000_001n },
  { inputPriceNano: 2_500_000n, cachedInputPriceNano: 0n, outputPriceNano: 0n },
]

const account = fc.nat({ max: ACCOUNTS - 1 })
const key = fc.nat({ max: KEYS.length - 1 })
const model = fc.constantFrom(0, 0, 1, 2)
/**
 * The index of a reservation. An index beyond the last reservation selects a reservation on which the step has an
 * effect.
 */
const anyId = fc.nat({ max: 3 * RESERVATIONS - 1 })
const input = fc.integer({ min: 0, max: 400 })
const output = fc.integer({ min: 0, max: 200 })
/** Enough tokens to reach the limits of the models, which are limits of each choice. */
const longOutput = fc.integer({ min: 900, max: 4_500 })
const someOutput = fc.oneof({ weight: 9, arbitrary: output }, { weight: 1, arbitrary: longOutput })
/** How many answers a request wants. Their output is one number in every call. */
const choices = fc.constantFrom(1, 1, 1, 2, 4)
const correction = fc.bigInt({ min: -1_500n, max: 1_500n }).filter((nano) => nano !== 0n)
const idempotencyKey = fc.nat({ max: 9 })
/** A deadline in seconds from now. A hold lasts a minute longer than its deadline. */
const deadlineS = fc.constantFrom(1, 20, 3_700)

const isOpen = fc.oneof(
  { weight: 2, arbitrary: fc.constant(true) },
  { weight: 1, arbitrary: fc.constant(false) },
)

/**
 * Kinds of receipts with which nothing may be charged: no receipt, a forged one, the receipt of another reservation, or
 * a receipt whose account or price the database lacks.
 */
const WORTHLESS = ['none', 'forged', 'of-another', 'of-no-account', 'of-no-price'] as const

const reserve = fc.record({
  id: anyId,
  // One key in ten is unknown.
  key: fc.oneof({ weight: 9, arbitrary: key }, { weight: 1, arbitrary: fc.constant(KEYS.length) }),
  model: fc.oneof({ weight: 12, arbitrary: model }, { weight: 1, arbitrary: fc.constant(MODELS.length) }),
  input,
  output: someOutput,
  choices,
  deadlineS,
  rolling: fc.oneof(
    { weight: 1, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc.record({
        expectedTokens: fc.integer({ min: 1, max: 120 }),
        leastTokens: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 120 })),
      }),
    },
  ),
})
const replace = fc.record({
  id: anyId,
  input: fc.oneof(input, fc.integer({ min: 400, max: 1_500 })),
  output: someOutput,
  choices,
  deadlineS: fc.constant(null),
})
const grow = fc.record({
  id: anyId,
  input: fc.constant(null),
  output: fc.oneof(output, fc.integer({ min: 200, max: 1_200 }), longOutput),
  choices,
  deadlineS: fc.option(deadlineS, { nil: null }),
})
const resize = fc.oneof({ weight: 3, arbitrary: replace }, { weight: 4, arbitrary: grow })
const settlement = {
  epoch: fc.integer({ min: 1, max: 2 }),
  outcome: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('completed' as const, 'cancelled' as const) },
    { weight: 1, arbitrary: fc.constantFrom('fault' as const, 'never-ran' as const) },
  ),
  input,
  cached: fc.integer({ min: 0, max: 400 }),
  output: fc.integer({ min: 0, max: 300 }),
  receipt: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('newest' as const, 'oldest' as const) },
    // A receipt from a database in which another price had this price's number.
    { weight: 2, arbitrary: fc.constant('renumbered' as const) },
    { weight: 1, arbitrary: fc.constantFrom(...WORTHLESS) },
  ),
}
const settle = fc.record({ id: anyId, ...settlement })

const limits = {
  limit: fc.option(
    fc.record({
      nano: fc.bigInt({ min: 200n, max: 2_500n }),
      period: fc.constantFrom('day' as const, 'week' as const, 'month' as const, 'total' as const),
    }),
    { nil: null, freq: 2 },
  ),
  requestsPerMinute: fc.option(fc.integer({ min: 1, max: 4 }), { nil: null, freq: 2 }),
  tokensPerMinute: fc.option(fc.integer({ min: 100, max: 1_200 }), { nil: null, freq: 2 }),
}
const newKey: fc.Arbitrary<KeySettings> = fc.record({
  isActive: fc.constant(true),
  /** Seconds from now; null if the key never expires. */
  expiresInS: fc.constant(null),
  models: fc.constant(null),
  ...limits,
})
const changedKey = fc.record({
  isActive: fc.oneof(
    { weight: 3, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
  expiresInS: fc.constantFrom(null, null, null, 0, 30),
  models: fc.constantFrom(null, [0, 1], [0, 2]),
  ...limits,
})
export type KeySettings = typeof changedKey extends fc.Arbitrary<infer Value> ? Value : never

/** One call or change of billing. */
const step = fc.oneof(
  happening('top-up', 3, fc.record({ account, idempotencyKey, nano: fc.bigInt({ min: 1n, max: 900n }) })),
  happening('adjust', 2, fc.record({ account, idempotencyKey, nano: correction })),
  happening('reserve', 10, fc.record({ calls: batch(reserve, 4) })),
  happening('resize', 7, fc.record({ calls: batch(resize, 3) })),
  happening('release', 2, fc.record({ ids: batch(anyId, 3) })),
  happening('settle', 6, fc.record({ entries: batch(settle, 4) })),
  // A request that was refused for lack of credits has waited, and asks again. It now accepts a hold for other tokens.
  happening('ask-again', 3, fc.record({ leastTokens: fc.integer({ min: 0, max: 120 }) })),
  // Repeats the call that was sent `back` calls earlier.
  happening('repeat', 4, fc.record({ back: fc.nat({ max: 3 }) })),
  happening('wait', 5, fc.record({ seconds: fc.constantFrom(5, 20, 45, 61, 95, 3_600, 86_400, 7 * 86_400) })),
  happening(
    'sweep',
    3,
    fc.record({ models: fc.constantFrom([0], [0, 1, 2]), waitS: fc.constantFrom(0, 95, 160) }),
  ),
  happening(
    'price',
    4,
    fc.record({ model, price: fc.nat({ max: PRICES.length - 1 }), inS: fc.constantFrom(0, 0, 30) }),
  ),
  happening('change-key', 3, fc.record({ key, settings: changedKey })),
  happening('change-account', 1, fc.record({ account, isOpen })),
  // The database was restored from a backup: it lacks a reservation, whose settlements arrive again.
  happening(
    'restore',
    3,
    fc.record({ id: anyId, entries: fc.array(fc.record(settlement), { maxLength: 2 }) }),
  ),
  happening('seal', 1, fc.record({})),
)
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

const LENGTH = { minLength: 10, maxLength: 40, size: 'max' } as const

export const history = fc.record({
  keys: fc.tuple(newKey, newKey, newKey),
  steps: fc.array(step, LENGTH),
})
export type History = typeof history extends fc.Arbitrary<infer Value> ? Value : never

function happening<const Kind extends string, Fields extends object>(
  kind: Kind,
  weight: number,
  fields: fc.Arbitrary<Fields>,
) {
  return { weight, arbitrary: fields.map((values) => ({ kind, ...values })) }
}

function batch<Call>(call: fc.Arbitrary<Call>, maxLength: number) {
  return fc.array(call, { minLength: 1, maxLength })
}

import * as fc from 'fast-check'
import { CHAT, EMBED, ODD } from './billing-database.ts'

/** Few accounts and reservations, so that steps meet each other's leftovers. */
export const ACCOUNTS = 2
export const RESERVATIONS = 4
export const MODELS = [CHAT, ODD, EMBED]

const reservationIndex = fc.nat({ max: RESERVATIONS - 1 })
const tokens = { input: fc.integer({ min: 0, max: 400 }), output: fc.integer({ min: 0, max: 200 }) }

/** One thing that happens to billing; reservations, accounts and models by their place. */
export const step = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('top-up' as const),
      account: fc.nat({ max: ACCOUNTS - 1 }),
      nano: fc.bigInt({ min: 1n, max: 3_000n }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('reserve' as const),
      calls: fc.array(
        fc.record({
          id: reservationIndex,
          account: fc.nat({ max: ACCOUNTS - 1 }),
          model: fc.nat({ max: MODELS.length - 1 }),
          ...tokens,
          deadlineS: fc.integer({ min: 1, max: 3 }),
        }),
        { minLength: 1, maxLength: 4 },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('replace' as const),
      calls: fc.array(fc.record({ id: reservationIndex, ...tokens }), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('release' as const),
      ids: fc.array(reservationIndex, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      entries: fc.array(
        fc.record({
          id: reservationIndex,
          epoch: fc.integer({ min: 1, max: 2 }),
          outcome: fc.constantFrom(
            'completed' as const,
            'cancelled' as const,
            'fault' as const,
            'never-ran' as const,
          ),
          input: tokens.input,
          cached: fc.integer({ min: 0, max: 400 }),
          output: fc.integer({ min: 0, max: 300 }),
        }),
        { minLength: 1, maxLength: 4 },
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('repeat' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('sweep' as const),
      model: fc.nat({ max: MODELS.length - 1 }),
      aheadS: fc.integer({ min: 80, max: 100 }),
    }),
  },
)
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

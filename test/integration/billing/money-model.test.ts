import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import {
  openBillingDatabase,
  setWatermark,
  settlement,
  START_MS,
  type BillingDatabase,
} from './billing-database.ts'
import { createMoneyModel, type ModelAccount } from './money-model.ts'
import { ACCOUNTS, MODELS, RESERVATIONS, step, type Step } from './money-steps.ts'

// Random histories run against PostgreSQL and against a model of the same rules in BigInt. Answers, balances and the
// reconciliation must agree after every step.

const RUNS = 200

/** Enough for some holds and too little for all. */
const START_NANO = 2_000n

/** Each of them a branch of the money functions. */
const RULES = [
  'granted',
  'clamped',
  'insufficient-credits',
  'conflict',
  'replaced',
  'charged',
  'late',
  'released',
  'void',
  'replayed',
  'different',
  'unknown',
  'expired',
]

let database: BillingDatabase

beforeAll(async () => {
  database = await openBillingDatabase()
})
afterAll(() => database.close())

test('every history leaves PostgreSQL and the model with the same money', { timeout: 300_000 }, async () => {
  const seen = new Map<string, number>()
  const histories = fc.asyncProperty(
    fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
    async (steps) => {
      const world = await createWorld(seen)
      let last: Step | null = null
      for (const next of steps) {
        const current: Step = next.kind === 'repeat' && last !== null ? last : next
        await world.take(current)
        last = current
      }
      await database.expectReconciled()
    },
  )
  const details = await fc.check(histories, { numRuns: RUNS })
  expect(fc.defaultReportMessage(details)).toBeUndefined()
  // Histories that never met a rule prove nothing about it.
  expect(RULES.filter((rule) => !seen.has(rule))).toEqual([])
})

async function createWorld(seen: Map<string, number>) {
  await forgetEarlierRuns()
  database.clock.nowMs = START_MS
  const accounts: ModelAccount[] = []
  for (let index = 0; index < ACCOUNTS; index += 1) {
    accounts.push({ ...(await database.createAccount(START_NANO)), posted: START_NANO, held: 0n })
  }
  const model = createMoneyModel(accounts)
  const ids = Array.from({ length: RESERVATIONS }, () => randomUUID())
  let topups = 0

  async function take(current: Step) {
    switch (current.kind) {
      case 'top-up': {
        const account = pick(accounts, current.account)
        topups += 1
        const topup = { amountNano: toNanoCredits(current.nano), idempotencyKey: `${topups}`, reason: 'test' }
        await database.operations.topUp(account.accountId, topup)
        await database.operations.topUp(account.accountId, topup)
        account.posted += current.nano
        break
      }
      case 'reserve': {
        const calls = current.calls.map((call) => ({
          reservationId: pick(ids, call.id),
          keyId: pick(accounts, call.account).keyId,
          model: pick(MODELS, call.model).id,
          inputTokens: call.input,
          outputTokens: call.output,
          deadlineMs: START_MS + call.deadlineS * 1_000,
        }))
        const answers = await database.money.reserve(calls)
        for (const answer of answers) {
          count(seen, answer.status)
          if (answer.status === 'granted' && answer.clamped) count(seen, 'clamped')
        }
        agree(current, answers, model.reserveAll(calls))
        break
      }
      case 'replace': {
        const calls = current.calls.map((call) => ({
          reservationId: pick(ids, call.id),
          inputTokens: call.input,
          outputTokens: call.output,
        }))
        const answers = await database.money.replace(calls)
        for (const { status } of answers) if (status === 'granted') count(seen, 'replaced')
        agree(current, answers, model.replaceAll(calls))
        break
      }
      case 'release': {
        const released = current.ids.map((id) => pick(ids, id))
        agree(current, await database.money.release(released), released.map(model.release))
        break
      }
      case 'settle': {
        const entries = current.entries.map((entry) =>
          settlement(pick(ids, entry.id), {
            epoch: entry.epoch,
            outcome: entry.outcome,
            promptTokens: entry.input,
            cachedTokens: Math.min(entry.cached, entry.input),
            completionTokens: entry.output,
          }),
        )
        const answers = await database.money.settle(entries)
        const charges = answers.map(({ result, chargedNano }) => ({ result, charged: chargedNano }))
        for (const { result } of charges) count(seen, result)
        agree(current, charges, entries.map(model.settle))
        break
      }
      case 'sweep': {
        const { id } = pick(MODELS, current.model)
        const untilMs = START_MS + current.aheadS * 1_000
        await setWatermark(database, id, untilMs)
        model.setWatermark(id, untilMs)
        const { expired } = await database.money.expire(100)
        if (expired > 0) count(seen, 'expired')
        agree(current, expired, model.expire())
        break
      }
      case 'repeat':
        break
    }
    for (const account of accounts) {
      const { posted, held } = await database.balance(account.accountId)
      agree(current, { posted, held }, { posted: account.posted, held: account.held })
    }
  }

  return { take }
}

/** The sweep of one run must not meet the holds of another. */
async function forgetEarlierRuns() {
  await database.pool.query('delete from settlement_watermarks')
  await database.pool.query(
    `with open as (delete from reservations where state = 'held' returning account_id, amount)
     update accounts a set held = held - o.amount
     from (select account_id, sum(amount) as amount from open group by account_id) o where a.id = o.account_id`,
  )
}

function count(seen: Map<string, number>, rule: string) {
  seen.set(rule, (seen.get(rule) ?? 0) + 1)
}

function pick<Value>(values: readonly Value[], index: number): Value {
  const value = values[index]
  if (value === undefined) throw new Error(`there is no ${index}`)
  return value
}

function agree(current: Step, actual: unknown, expected: unknown) {
  expect(actual, `after ${print(current)}`).toEqual(expected)
}

const print = (value: unknown) =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? part.toString() : part))

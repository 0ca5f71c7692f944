import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { loadCatalog } from '#apps/billing/catalog/load-catalog.ts'
import { openPool } from '#apps/billing/database/open-pool.ts'
import { createMoney, type Money } from '#apps/billing/money/money.ts'
import { createReceipts } from '#apps/billing/money/receipts.ts'
import type { HoldAnswer } from '#libs/billing-client/billing-calls.ts'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { createBillingDatabase } from '../../test/support/billing-template.ts'

/**
 * Billing's real functions on a real PostgreSQL, in virtual time: a call is answered by the next `flush`. So all calls
 * of one moment are one batch.
 */
export type VirtualBilling = Pick<BillingClient, 'reserve' | 'resize'> & {
  settle(settlement: Settlement): void
  topUp(accountId: string, nano: bigint): void
  /** Answers all calls so far. Returns false if there was none. */
  flush(): Promise<boolean>
  /** Returns the credits that the account had not held after the last flush. */
  available(accountId: string): bigint
  posted(accountId: string): bigint
  /** Returns the credits that were available just before this reservation was granted. */
  availableAtGrant(reservationId: string): bigint
  /** The number of calls so far that let a hold grow. */
  extends(): number
  createAccount(nano: bigint): Promise<{ accountId: string; keyId: string }>
  /** Throws if the reconciliation finds a contradiction, or if credits are held or not as this object counted them. */
  checkBooks(): Promise<void>
  close(): Promise<void>
}

type Account = { posted: bigint; held: bigint }

const HOLD_GRACE_MS = 60_000

export async function openVirtualBilling(options: {
  models: readonly ModelSpec[]
  nowMs: () => number
}): Promise<VirtualBilling> {
  const log = pino({ level: 'silent' })
  const database = await createBillingDatabase()
  const pool = await openPool({ url: database.url, log, waitMs: 5_000 })
  await loadCatalog({ pool, models: options.models, nowMs: options.nowMs(), log })
  const money = createMoney({
    pool,
    receipts: createReceipts(['a-receipt-secret-of-the-bench-alone']),
    holdGraceMs: HOLD_GRACE_MS,
    freeTokensPerHour: 100_000,
    nowMs: options.nowMs,
  })
  const accounts = new Map<string, Account>()
  /** The amounts of the open holds, by reservation. */
  const holds = new Map<string, { account: Account; amount: bigint; availableAtGrant: bigint }>()
  const keys = new Map<string, Account>()
  const settlements: Settlement[] = []
  const topUps: { accountId: string; nano: bigint }[] = []
  let extended = 0

  const accountOf = (accountId: string) => known(accounts, accountId)
  const reserves = createBatch(async (calls: Parameters<Money['reserve']>[0]) => {
    const answers = await money.reserve(calls)
    for (const [index, answer] of answers.entries()) {
      const call = calls[index]
      if (answer.status !== 'granted' || call === undefined) continue
      const account = known(keys, call.keyId)
      const availableAtGrant = account.posted - account.held
      account.held += answer.amountNano
      holds.set(call.reservationId, { account, amount: answer.amountNano, availableAtGrant })
    }
    return answers
  })
  const resizes = createBatch(async (calls: Parameters<Money['resize']>[0]) => {
    extended += calls.filter(({ inputTokens }) => inputTokens === undefined).length
    return noteAmounts(calls, await money.resize(calls))
  })

  function noteAmounts(calls: readonly { reservationId: string }[], answers: HoldAnswer[]): HoldAnswer[] {
    for (const [index, answer] of answers.entries()) {
      const hold = holds.get(calls[index]?.reservationId ?? '')
      if (answer.status !== 'granted' || hold === undefined) continue
      hold.account.held += answer.amountNano - hold.amount
      hold.amount = answer.amountNano
    }
    return answers
  }

  async function settleAll(): Promise<void> {
    const settled = settlements.splice(0)
    for (const [index, { result, chargedNano, costNano }] of (await money.settle(settled)).entries()) {
      const { id = '' } = settled[index] ?? {}
      if (result !== 'charged' || chargedNano !== costNano) throw new Error(`${id} is not paid: ${result}`)
      const { account, amount } = known(holds, id)
      holds.delete(id)
      account.held -= amount
      account.posted -= chargedNano
    }
  }

  async function topUpAll(): Promise<void> {
    for (const { accountId, nano } of topUps.splice(0)) {
      await giveCredits(pool, { accountId, nano, nowMs: options.nowMs() })
      accountOf(accountId).posted += nano
    }
  }

  return {
    reserve: reserves.add,
    resize: resizes.add,
    settle: (settlement) => void settlements.push(settlement),
    topUp: (accountId, nano) => void topUps.push({ accountId, nano }),
    async flush() {
      const batches = [resizes, reserves].filter((batch) => batch.size() > 0)
      const hasCredits = settlements.length + topUps.length > 0
      if (hasCredits) {
        await settleAll()
        await topUpAll()
      }
      for (const batch of batches) await batch.flush()
      return hasCredits || batches.length > 0
    },
    available(accountId) {
      const { posted, held } = accountOf(accountId)
      return posted - held
    },
    posted: (accountId) => accountOf(accountId).posted,
    availableAtGrant: (reservationId) => known(holds, reservationId).availableAtGrant,
    extends: () => extended,
    async createAccount(nano) {
      const [accountId, keyId] = [randomUUID(), randomUUID()]
      const now = new Date(options.nowMs())
      await pool.query("insert into accounts (id, name, created_at) values ($1, 'bench', $2)", [
        accountId,
        now,
      ])
      await pool.query(
        `insert into api_keys (id, account_id, sha256, prefix, last4, created_at)
         values ($1, $2, sha256($3), '', '', $4)`,
        [keyId, accountId, Buffer.from(keyId), now],
      )
      await giveCredits(pool, { accountId, nano, nowMs: options.nowMs() })
      const account = { posted: nano, held: 0n }
      accounts.set(accountId, account)
      keys.set(keyId, account)
      return { accountId, keyId }
    },
    async checkBooks() {
      const wrong = await pool.query('select name, count from reconcile(whole => true) where count <> 0')
      if (wrong.rows.length > 0) throw new Error(`the books do not add up: ${JSON.stringify(wrong.rows)}`)
      const { rows } = await pool.query<{ id: string; posted: bigint; held: bigint }>(
        'select * from accounts',
      )
      for (const { id, posted, held } of rows) {
        const expected = accounts.get(id)
        if (held === 0n && posted >= 0n && posted === expected?.posted) continue
        throw new Error(`account ${id} has ${posted}, ${held} held, and not ${expected?.posted}`)
      }
    },
    async close() {
      await pool.end()
      await database.drop()
    },
  }
}

async function giveCredits(
  pool: Pool,
  { accountId, nano, nowMs }: { accountId: string; nano: bigint; nowMs: number },
): Promise<void> {
  await pool.query(
    'select from top_up(movement => $1, account => $2, amount => $3, why => $4, key => $5, at => $6)',
    [randomUUID(), accountId, nano, 'bench', randomUUID(), new Date(nowMs)],
  )
}

/** Collects calls until `flush`, which answers them all with one call of `run`. */
function createBatch<Call, Answer>(run: (calls: readonly Call[]) => Promise<Answer[]>) {
  let waiting: { call: Call; answered: PromiseWithResolvers<Answer> }[] = []
  return {
    async add(call: Call): Promise<Answer> {
      const answered = Promise.withResolvers<Answer>()
      waiting.push({ call, answered })
      return await answered.promise
    },
    size: () => waiting.length,
    async flush(): Promise<void> {
      const batch = waiting
      waiting = []
      const answers = await run(batch.map(({ call }) => call))
      for (const [index, { answered }] of batch.entries()) {
        const answer = answers[index]
        if (answer === undefined) throw new Error('a call got no answer')
        answered.resolve(answer)
      }
    },
  }
}

function known<Value>(values: ReadonlyMap<string, Value>, name: string): Value {
  const value = values.get(name)
  if (value === undefined) throw new Error(`${name} is unknown`)
  return value
}

import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { deadLetterKey } from '#apps/billing/settlements/settlement-streams.ts'
import { settlementStreamKey } from '#libs/queue-redis/keys.ts'
import { queueRules } from '#libs/queue-redis/rights.ts'
import { receipts, reserveCall, settlement, type BillingDatabase } from '../support/billing-database.ts'
import { readReceipt } from '../support/proven.ts'
import { addSettlement } from '../support/settlement-replica.ts'
import { test as base } from '../support/settlement-test.ts'

const WAIT = { interval: 20 }

/** The replicas have the rights of docs/operators.md and no others; a command that these rights refuse fails the test. */
const test = base
  .extend('billingUrl', { scope: 'file' }, async ({ server, connection }) => {
    await connection.call('ACL', 'SETUSER', 'billing', 'on', '>of-billing', '-@all', ...queueRules('billing'))
    return Object.assign(new URL(server.url), { username: 'billing', password: 'of-billing' }).href
  })
  .extend('startWithRights', async ({ start, billingUrl, connection }, { onCleanup }) => {
    await connection.acl('LOG', 'RESET')
    onCleanup(async () => {
      const refused = await connection.acl('LOG')
      if (!Array.isArray(refused) || refused.length > 0) throw new Error(JSON.stringify(refused))
    })
    return () => start({ redis: { mode: 'single', url: billingUrl } })
  })

test('a receipt of the next release is charged like any other', async ({
  database,
  redis,
  startWithRights,
}) => {
  const account = await database.createAccount(10_000n)
  const forgotten = await hold(database, account.keyId)
  const receipt = receipts.sign(Object.assign(grantOf(forgotten), { tier: 'priority' }))
  await forget(database, forgotten)
  await addSettlement(redis, 'chat', settlement(forgotten.reservationId, { receipt }))
  const replica = startWithRights()
  await expectCharged(database, account.accountId, 700n)
  expect(await replica.alarms('dead-letter')).toBe(0)
})

test('an entry that this release cannot handle is put aside, and the others of its batch are charged', async ({
  database,
  redis,
  startWithRights,
}) => {
  const account = await database.createAccount(10_000n)
  const [first, strange, last] = [
    await hold(database, account.keyId),
    await hold(database, account.keyId),
    await hold(database, account.keyId, 'embed'),
  ]
  // The signature is genuine, but JavaScript cannot represent the date.
  const receipt = receipts.sign({ ...grantOf(strange), deadlineMs: Number.MAX_SAFE_INTEGER })
  await forget(database, strange)
  await addSettlement(redis, 'chat', settlement(first.reservationId))
  await addSettlement(redis, 'chat', settlement(strange.reservationId, { receipt }))
  await addSettlement(redis, 'embed', settlement(last.reservationId, { completionTokens: 0 }))
  const replica = startWithRights()
  await expectCharged(database, account.accountId, 900n)
  await expect.poll(() => replica.alarms('dead-letter'), WAIT).toBe(1)
  await expect.poll(() => replica.deadLetters(), WAIT).toEqual({ chat: 1, embed: 0, odd: 0 })
  const [[, fields] = ['', []]] = await redis.xrange(deadLetterKey('chat'), '-', '+')
  expect(fields).toContain(strange.reservationId)
  expect(fields[3]).toContain('Invalid time value')
  await expect.poll(() => pendingCount(redis), WAIT).toBe(0)
})

// An empty batch needs the first right, and not the second.
test.for(['update on accounts', 'update on key_budgets'])(
  'without the right to %s nothing is put aside, and everything is charged once the right is granted',
  async (right, { database, redis, startWithRights }) => {
    const account = await database.createAccount(10_000n)
    const spendLimit = { amountNano: '5000', period: 'total' }
    const { keyId } = await database.operator.createKey(account.accountId, { spendLimit })
    const { reservationId } = await hold(database, keyId)
    await database.pool.query(`revoke ${right} from public, millrace_service`)
    await addSettlement(redis, 'chat', settlement(reservationId))
    const replica = startWithRights()
    await expect.poll(() => pendingCount(redis), WAIT).toBe(1)
    await expect.poll(() => replica.failedCommits(), WAIT).toBeGreaterThan(2)
    expect(await redis.exists(deadLetterKey('chat'))).toBe(0)
    await database.pool.query(`grant ${right} to millrace_service`)
    await expectCharged(database, account.accountId, 700n)
    expect(await replica.alarms('dead-letter')).toBe(0)
  },
)

test('an entry of thousands of fields is put aside, and those after it are charged', async ({
  database,
  redis,
  startWithRights,
}) => {
  const account = await database.createAccount(10_000n)
  const { reservationId } = await hold(database, account.keyId)
  const many = Array.from({ length: 20_000 }, (_, index) => [`field-${index}`, 'value']).flat()
  await redis.xadd(settlementStreamKey('chat'), '*', ...many)
  await addSettlement(redis, 'chat', settlement(reservationId))
  startWithRights()
  await expectCharged(database, account.accountId, 700n)
  await expect.poll(() => redis.xlen(deadLetterKey('chat')), WAIT).toBe(1)
  await expect.poll(() => pendingCount(redis), WAIT).toBe(0)
  const { reservationId: next } = await hold(database, account.keyId)
  await addSettlement(redis, 'chat', settlement(next))
  await expectCharged(database, account.accountId, 1_400n)
})

test('what a killed replica had received, and did not charge, is charged by another', async ({
  database,
  redis,
  startWithRights,
}) => {
  const account = await database.createAccount(10_000n)
  const { reservationId } = await hold(database, account.keyId)
  const key = settlementStreamKey('chat')
  await addSettlement(redis, 'chat', settlement(reservationId))
  await redis.xgroup('CREATE', key, 'billing', '0')
  await redis.xreadgroup('GROUP', 'billing', 'killed', 'STREAMS', key, '>')
  expect(await pendingCount(redis)).toBe(1)
  startWithRights()
  await expectCharged(database, account.accountId, 700n)
})

type Held = Awaited<ReturnType<typeof hold>>

async function hold(database: BillingDatabase, keyId: string, model = 'chat') {
  const outputTokens = model === 'embed' ? 0 : 50
  const call = reserveCall(keyId, { model, outputTokens, deadlineMs: Date.now() + 600_000 })
  const [answer] = await database.money.reserve([call])
  if (answer?.status !== 'granted') throw new Error(`expected a hold, got ${answer?.status}`)
  return { reservationId: call.reservationId, receipt: answer.receipt }
}

function grantOf({ reservationId, receipt }: Held) {
  const grant = readReceipt(receipt, reservationId)
  if (grant === null) throw new Error('the receipt was signed with this secret')
  return grant
}

/** Deletes a reservation, as a restore from an older backup does. */
async function forget(database: BillingDatabase, { reservationId }: Held): Promise<void> {
  const { pool } = database
  await pool.query(
    'update accounts a set held = a.held - r.amount from reservations r where r.id = $1 and a.id = r.account_id',
    [reservationId],
  )
  await pool.query('delete from reservations where id = $1', [reservationId])
}

async function expectCharged(database: BillingDatabase, accountId: string, nano: bigint): Promise<void> {
  await expect
    .poll(async () => 10_000n - (await database.balance(accountId)).posted, { ...WAIT, timeout: 10_000 })
    .toBe(nano)
}

async function pendingCount(redis: Redis): Promise<unknown> {
  const [count] = await redis.xpending(settlementStreamKey('chat'), 'billing').catch(() => [null])
  return count
}

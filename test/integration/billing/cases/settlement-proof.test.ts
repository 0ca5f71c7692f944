import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { deadLetterKey } from '#apps/billing/settlements/settlement-streams.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { proveSettlement, toOrphanReceipt } from '#libs/contracts/settlement-proof.ts'
import { livenessKey, orphansKey, settlementStreamKey } from '#libs/queue-redis/keys.ts'
import { reserveCall, settlement, type BillingDatabase } from '../support/billing-database.ts'
import { test } from '../support/settlement-test.ts'

const WAIT = { interval: 20 }
const GATEWAY = 'gateway-1'
const FREE = { outcome: 'fault', promptTokens: 0, cachedTokens: 0, completionTokens: 0 } as const

type Held = Awaited<ReturnType<typeof hold>>
type Fields = Omit<Partial<Settlement>, 'timing'>

/** What somebody appends who can read the job and write the stream, but has not the hold's secret. */
const FORGED: readonly (readonly [string, (held: Held, other: Held) => Fields])[] = [
  ['a fault without a receipt', ({ id }) => settlement(id, FREE)],
  ['a dear end without a receipt', ({ id }) => settlement(id, { completionTokens: 4_000 })],
  ['a dear end with the receipt of the job', ({ id, stored }) => settlement(id, { receipt: stored })],
  [
    'a dear end in the name of a dead gateway',
    ({ id, stored }) => {
      return { ...settlement(id, { receipt: stored }), orphanOf: 'gateway-dead' }
    },
  ],
  [
    'a fault in the name of a gateway that is alive',
    ({ id, stored }) => {
      return { ...settlement(id, { ...FREE, receipt: stored }), orphanOf: GATEWAY }
    },
  ],
  [
    'a fault in the name of another gateway, which is dead',
    ({ id, stored }) => {
      return { ...settlement(id, { ...FREE, receipt: stored }), orphanOf: 'gateway-dead' }
    },
  ],
  [
    'a dear end that a dead gateway would pay',
    ({ id, receipt }) => {
      const stored = toOrphanReceipt(receipt, 'gateway-dead')
      return { ...settlement(id, { receipt: stored }), orphanOf: 'gateway-dead' }
    },
  ],
  [
    'tokens free of charge, which would count in a rate, in the name of a dead gateway',
    ({ id, receipt }) => {
      const stored = toOrphanReceipt(receipt, 'gateway-dead')
      return {
        ...settlement(id, { ...FREE, promptTokens: 4_000, receipt: stored }),
        orphanOf: 'gateway-dead',
      }
    },
  ],
  [
    'the proof of another hold',
    ({ id }, other) => {
      const proof = proveSettlement(other.receipt, settlement(other.id, FREE))
      return settlement(id, { ...FREE, receipt: proof })
    },
  ],
  [
    'a proof with other tokens',
    ({ id, receipt }) => {
      const proof = proveSettlement(receipt, settlement(id, { completionTokens: 1 }))
      return settlement(id, { completionTokens: 2, receipt: proof })
    },
  ],
]

test.for(FORGED)(
  'what is forged is put aside, and the hold is left alone: %s',
  async ([, forge], { database, redis, start }) => {
    const account = await database.createAccount(10_000n)
    const [held, other] = [await hold(database, account.keyId), await hold(database, account.keyId)]
    await redis.set(livenessKey('gateway', GATEWAY), '1')
    await append(redis, forge(held, other))
    const replica = start()
    await expect.poll(() => replica.alarms('unproven'), WAIT).toBe(1)
    await expect.poll(() => replica.deadLetters(), WAIT).toMatchObject({ chat: 1 })
    expect(await database.balance(account.accountId)).toMatchObject({ posted: 10_000n, held: 1_400n })
    const [[, fields] = ['', []]] = await redis.xrange(deadLetterKey('chat'), '-', '+')
    expect(fields).toContain(held.id)

    // The gateway's own settlement, which comes later, counts.
    const own = settlement(held.id, { completionTokens: 3 })
    await append(redis, { ...own, receipt: proveSettlement(held.receipt, own) })
    await expect.poll(async () => (await database.balance(account.accountId)).held, WAIT).toBe(700n)
    expect(await replica.alarms('different')).toBe(0)
  },
)

test('what workers ended for a dead gateway costs nothing, whatever else is in their list', async ({
  database,
  redis,
  start,
}) => {
  const account = await database.createAccount(10_000n)
  const held = await hold(database, account.keyId)
  const orphan: Fields = { ...settlement(held.id, { ...FREE, receipt: held.stored }), orphanOf: GATEWAY }
  const text = Object.entries(orphan)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join('\n')
  await redis.rpush(orphansKey('chat'), '', 'nonsense', 'a=b', 'x'.repeat(10_000), text)
  const replica = start()
  await expect
    .poll(async () => await database.balance(account.accountId), WAIT)
    .toMatchObject({
      posted: 10_000n,
      held: 0n,
    })
  expect(await redis.exists(orphansKey('chat'))).toBe(0)
  expect(await replica.alarms('unproven')).toBe(0)
})

test('a list of orphans that is no list stops nothing', async ({ database, redis, start }) => {
  const account = await database.createAccount(10_000n)
  const held = await hold(database, account.keyId)
  await redis.set(orphansKey('chat'), 'no list')
  const own = settlement(held.id, { completionTokens: 3 })
  await append(redis, { ...own, receipt: proveSettlement(held.receipt, own) })
  const replica = start()
  await expect.poll(async () => (await database.balance(account.accountId)).held, WAIT).toBe(0n)
  await expect.poll(() => replica.watermarkAge('chat'), WAIT).toBeLessThan(1)
})

test('an entry whose gateway could not be looked up is read again', async ({ database, redis, start }) => {
  const account = await database.createAccount(10_000n)
  const held = await hold(database, account.keyId)
  await append(redis, { ...settlement(held.id, { ...FREE, receipt: held.stored }), orphanOf: GATEWAY })
  await redis.call('ACL', 'SETUSER', 'default', '-exists')
  const replica = start()
  try {
    await expect
      .poll(
        async () => (await redis.xpending(settlementStreamKey('chat'), 'billing').catch(() => [0]))[0],
        WAIT,
      )
      .toBe(1)
    expect(await database.balance(account.accountId)).toMatchObject({ held: 700n })
  } finally {
    await redis.call('ACL', 'SETUSER', 'default', '+exists')
  }
  await expect.poll(async () => (await database.balance(account.accountId)).held, WAIT).toBe(0n)
  expect(await replica.alarms('unproven')).toBe(0)
})

async function hold(database: BillingDatabase, keyId: string) {
  const call = reserveCall(keyId, { model: 'chat', outputTokens: 50, deadlineMs: Date.now() + 600_000 })
  const [answer] = await database.money.reserve([call])
  if (answer?.status !== 'granted') throw new Error(`expected a hold, got ${answer?.status}`)
  const { receipt } = answer
  return { id: call.reservationId, receipt, stored: toOrphanReceipt(receipt, GATEWAY) }
}

async function append(redis: Redis, settled: Fields) {
  const fields = Object.entries(settled).flatMap(([name, value]) => [name, String(value)])
  await redis.xadd(settlementStreamKey('chat'), '*', ...fields)
}

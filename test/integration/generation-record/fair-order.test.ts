import { expect, test } from 'vitest'
import { finishKey, VIRTUAL_TIME } from '#libs/queue-redis/keys.ts'
import {
  arrive,
  arriveMany,
  claimId,
  hangUp,
  newModel,
  record,
  redis,
  useRecord,
} from './record-under-test.ts'

useRecord()

test('a flooding account waits behind its own generations, another account only behind the first of them', async () => {
  const model = newModel()
  const flood = await arriveMany(model, 'flooder', 50)
  expect(flood.map(({ enqueue }) => enqueue)).toEqual(
    flood.map((_, turn) => ({ status: 'waiting', tag: turn + 1, ahead: turn, costAhead: turn, home: null })),
  )
  const neighbour = await arrive(model, 'neighbour')
  expect(neighbour.enqueue).toMatchObject({ status: 'waiting', tag: 1, ahead: 1 })
  expect([await claimId(model), await claimId(model)]).toEqual([flood[0]?.id, neighbour.id])
})

test('accounts get tokens in the ratio of their weights, whatever their requests cost', async () => {
  const model = newModel()
  const costs = new Map<string, { account: string; cost: number }>()
  for (let turn = 0; turn < 80; turn += 1) {
    const heavy = { weight: 3, cost: 100 + (turn % 7) * 50 }
    costs.set((await arrive(model, 'heavy', heavy)).id, { account: 'heavy', cost: heavy.cost })
    const light = { weight: 1, cost: 10 + (turn % 5) * 100 }
    costs.set((await arrive(model, 'light', light)).id, { account: 'light', cost: light.cost })
  }
  const served = new Map<string, number>()
  for (let turn = 0; turn < 80; turn += 1) {
    const { account, cost } = costs.get((await claimId(model)) ?? '') ?? { account: '', cost: 0 }
    served.set(account, (served.get(account) ?? 0) + cost)
  }
  const ratio = (served.get('heavy') ?? 0) / (served.get('light') ?? 0)
  expect(ratio).toBeGreaterThan(3 * 0.95)
  expect(ratio).toBeLessThan(3 * 1.05)
})

/** Ends a claimed generation after it has used this number of tokens. */
async function end(model: string, id: string, [promptTokens, completionTokens]: [number, number]) {
  const usage = { promptTokens, cachedTokens: 0, completionTokens }
  const settlement = { id, epoch: 1, outcome: 'completed', ...usage } as const
  return await record.settle(model, settlement, { role: 'gateway' })
}

test('a settlement may cost more than its tokens', async () => {
  const model = newModel()
  await arrive(model, 'account', { cost: 10 })
  const id = (await claimId(model)) ?? ''
  const usage = { promptTokens: 20, cachedTokens: 0, completionTokens: 30 }
  const settlement = { id, epoch: 1, outcome: 'completed', ...usage } as const
  await record.settle(model, settlement, { role: 'gateway', extraCost: 250 })
  expect((await arrive(model, 'account', { cost: 10 })).enqueue).toMatchObject({ tag: 1 + 300 })
})

test('a settlement replaces the expected cost by the used tokens, once', async () => {
  const model = newModel()
  await arrive(model, 'account', { cost: 100, weight: 2 })
  const id = (await claimId(model)) ?? ''
  await end(model, id, [30, 50])
  await end(model, id, [3_000, 5_000])
  expect((await arrive(model, 'account', { cost: 10 })).enqueue).toMatchObject({ tag: 1 + 80 / 2 })
})

test('a generation that used more than the virtual time has passed puts its account behind it again', async () => {
  const model = newModel()
  const first = await arrive(model, 'account', { cost: 100 })
  await claimId(model)
  await arriveMany(model, { accountId: 'other', cost: 100_000 }, 2)
  await claimId(model)
  await claimId(model)
  // Forgets the finish tag of the account.
  await arrive(model, 'newcomer')
  await end(model, first.id, [100_000, 300_000])
  expect((await arrive(model, 'account')).enqueue).toMatchObject({ tag: 400_001 })
})

test('the fixed cost of a generation that ran is not given back, and that of one that never ran is', async () => {
  const model = newModel()
  const ran = await arrive(model, 'account', { cost: 100, fixedCost: 40 })
  const never = await arrive(model, 'account', { cost: 100, fixedCost: 40 })
  await claimId(model)
  await end(model, ran.id, [10, 5])
  await hangUp(model, never.id)
  expect((await arrive(model, 'account')).enqueue).toMatchObject({ tag: 1 + 55 })
})

test('a continuation of a lost run costs nothing more', async () => {
  const model = newModel()
  const { id, enqueueing } = await arrive(model, 'account', { cost: 100 })
  await claimId(model)
  await record.enqueue({ ...enqueueing, epoch: 2, tag: 1 })
  await claimId(model)
  await record.enqueue({ ...enqueueing, epoch: 3, tag: 1 })
  const usage = { promptTokens: 60, cachedTokens: 0, completionTokens: 20 }
  await record.settle(model, { id, epoch: 3, outcome: 'cancelled', ...usage }, { role: 'gateway' })
  expect((await arrive(model, 'account')).enqueue).toMatchObject({ tag: 81 })
})

test('an account that used less than expected catches up without delaying a new one', async () => {
  const model = newModel()
  await arriveMany(model, { accountId: 'other', cost: 1_000 }, 4)
  const ids = (await arriveMany(model, { accountId: 'account', cost: 1_000 }, 4)).map(({ id }) => id)
  for (let turn = 0; turn < 6; turn += 1) await claimId(model)
  for (const id of ids.slice(0, 3)) await end(model, id, [1, 9])
  // The last generation of the account waits at 3,001 while its finish tag is 1,031, below the virtual time of 2,001.
  const next = await arriveMany(model, { accountId: 'account', cost: 1_000 }, 3)
  expect(next.map(({ enqueue }) => enqueue)).toMatchObject([{ tag: 2_251 }, { tag: 2_501 }, { tag: 3_031 }])
  const newcomer = await arrive(model, 'newcomer')
  expect(newcomer.enqueue).toMatchObject({ tag: 2_001, ahead: 0 })
  expect(await claimId(model)).toBe(newcomer.id)
})

test('an account with nothing waiting keeps no credit', async () => {
  const model = newModel()
  const { id } = await arrive(model, 'account', { cost: 1_000 })
  await claimId(model)
  await end(model, id, [1, 1])
  await arriveMany(model, { accountId: 'other', cost: 500 }, 2)
  await claimId(model)
  await claimId(model)
  const next = await arriveMany(model, 'account', 2)
  expect(next.map(({ enqueue }) => enqueue)).toMatchObject([{ tag: 501 }, { tag: 502 }])
})

test('the cost ahead is that of the own generations and of the share of the others that come before', async () => {
  const model = newModel()
  await arriveMany(model, { accountId: 'other', cost: 50 }, 4)
  await arriveMany(model, { accountId: 'account', cost: 30 }, 3)
  // The tag is 91: 90 tokens of its own, and two of the other's four generations.
  const refused = await arrive(model, 'account', { mostAhead: 189 })
  expect(refused.enqueue).toEqual({ status: 'busy', reason: 'queue', ahead: 190 })
  expect((await arrive(model, 'account', { mostAhead: 190 })).enqueue).toMatchObject({ status: 'waiting' })
})

test('tags do not lose precision beyond fourteen digits', async () => {
  const model = newModel()
  await redis.zadd(finishKey(model), '1234567890123456', VIRTUAL_TIME)
  const { enqueue, enqueueing, id } = await arrive(model, 'account', { cost: 1, weight: 2 })
  expect(enqueue).toMatchObject({ tag: 1_234_567_890_123_456 })
  const next = await arrive(model, 'account', { cost: 1, weight: 4 })
  expect(next.enqueue).toMatchObject({ tag: 1_234_567_890_123_456.5, ahead: 1 })
  expect(await record.enqueue(enqueueing)).toEqual({ ...enqueue, costAhead: null })
  expect([await claimId(model), await claimId(model)]).toEqual([id, next.id])
  expect((await arrive(model, 'newcomer')).enqueue).toMatchObject({ tag: 1_234_567_890_123_456.5 })
})

test('an account without waiting generations starts at the virtual time', async () => {
  const model = newModel()
  await arriveMany(model, 'flooder', 10)
  for (let turn = 0; turn < 6; turn += 1) await claimId(model)
  expect((await arrive(model, 'newcomer')).enqueue).toMatchObject({ tag: 6, ahead: 0 })
})

test('an account that hangs up all its waiting generations is not served later for it', async () => {
  const model = newModel()
  for (const { id } of await arriveMany(model, 'flooder', 30)) await hangUp(model, id)
  expect((await arrive(model, 'flooder')).enqueue).toMatchObject({ tag: 1 })
})

test('finish tags that the virtual time has passed by the largest credit are dropped', async () => {
  const model = newModel()
  for (let turn = 0; turn < 20; turn += 1) await arrive(model, `account-${turn}`)
  await arriveMany(model, { accountId: 'account-0', cost: 70_000 }, 3)
  expect(await redis.zcard(finishKey(model))).toBe(20)
  for (let turn = 0; turn < 22; turn += 1) await claimId(model)
  await arrive(model, 'newcomer')
  expect(await redis.zrange(finishKey(model), '0', '-1')).toEqual([VIRTUAL_TIME, 'newcomer', 'account-0'])
})

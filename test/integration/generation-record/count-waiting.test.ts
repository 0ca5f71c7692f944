import { expect, test } from 'vitest'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { waitingExpiryKey } from '#libs/queue-redis/keys.ts'
import { generationJob } from '../../support/generation-job.ts'
import { claim, enqueue, enqueued, redis, useRecord } from './record-under-test.ts'

useRecord()

test('a model of which nothing waits has a count of zero and no oldest', async () => {
  expect(await createCountWaiting(redis)(generationJob().model)).toEqual({ count: 0, oldestMs: null })
})

test('generations with different needs count together, and the first one gives the age', async () => {
  const job = await enqueued()
  const other = generationJob({ model: job.model })
  await enqueue(other, { requirements: { features: ['continue'], window: 4_096 } })
  const waiting = await createCountWaiting(redis)(job.model)
  expect(waiting.count).toBe(2)
  expect(waiting.oldestMs).toBeGreaterThanOrEqual(0)
  expect(waiting.oldestMs).toBeLessThan(30_000)
})

test('a claimed generation no longer counts, nor does one that has expired and was not swept', async () => {
  const job = await enqueued()
  const claimed = generationJob({ model: job.model })
  await enqueue(claimed)
  await claim(job)
  expect((await createCountWaiting(redis)(job.model)).count).toBe(1)
  const [member = ''] = await redis.zrange(waitingExpiryKey(job.model), '0', '0')
  await redis.zadd(waitingExpiryKey(job.model), '1', member)
  expect(await createCountWaiting(redis)(job.model)).toEqual({ count: 0, oldestMs: null })
})

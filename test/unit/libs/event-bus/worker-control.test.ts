import { Redis } from 'ioredis'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createControlSender } from '#libs/event-bus/worker-control.ts'

test('a message that is not sent is logged, but not an offer, which nearly every request has', async () => {
  const redis = new Redis({ lazyConnect: true })
  redis.disconnect()
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const { offer, count } = createControlSender({ redis, gateway: 'g', onNoSubscriber: () => {}, log })
  expect(await offer('worker-1', { model: 'm', id: 'a', epoch: 1, tag: 1, forMs: 250 })).toBe(false)
  expect(lines).toEqual([])
  expect(await count('worker-1', { id: 'c', account: 'a', bytes: 1 })).toBe(false)
  expect(lines).toHaveLength(1)
})

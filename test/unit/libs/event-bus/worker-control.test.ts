import { Redis } from 'ioredis'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createControlSender } from '#libs/event-bus/worker-control.ts'

test('a message that is not sent is logged, but not a look, which nearly every request has', async () => {
  const redis = new Redis({ lazyConnect: true })
  redis.disconnect()
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const { look, count } = createControlSender({ redis, gateway: 'g', onNoSubscriber: () => {}, log })
  expect(await look('worker-1', 'm')).toBe(false)
  expect(lines).toEqual([])
  expect(await count('worker-1', { id: 'c', account: 'a', bytes: 1 })).toBe(false)
  expect(lines).toHaveLength(1)
})

import { expect, test } from 'vitest'
import { boundLines } from '#libs/telemetry/bound-lines.ts'
import { createLogger } from '#libs/telemetry/logger.ts'

test('of a flood of one message 50 lines are logged, then one a second, with the number of the others', () => {
  let ms = 0
  const count = boundLines(() => ms)
  const logged: (number | null)[] = []
  for (; ms < 3_000; ms += 1) logged.push(count('request refused'))
  expect(logged.slice(0, 50)).toEqual(Array.from({ length: 50 }, () => 0))
  expect(logged.filter((line) => line !== null)).toHaveLength(52)
  expect(logged.reduce<number>((sum, line) => sum + (line ?? 0), 0)).toBeGreaterThan(1_900)
  expect(count('another message')).toBe(0)
  ms += 50_000
  expect(count('request refused')).toBeGreaterThan(900)
  expect(count('request refused')).toBe(0)
})

test('messages that contain values do not fill the memory', () => {
  const count = boundLines(() => 0)
  for (let n = 0; n < 10_000; n += 1) count(`message ${n}`)
  expect(count('message 9999')).toBe(0)
})

test('ten thousand failures with stacks cost some kilobytes of log, and a fatal line is never left out', () => {
  const lines: string[] = []
  const log = createLogger('test', 'info', { write: (line) => void lines.push(line) })
  const cause = new Error('Connection is closed.')
  for (let n = 0; n < 10_000; n += 1) log.warn({ err: new Error('no', { cause }), n }, 'request refused')
  for (let n = 0; n < 30; n += 1) log.fatal('uncaught exception')
  expect(lines.filter((line) => line.includes('uncaught exception'))).toHaveLength(30)
  expect(lines.length).toBeLessThan(100)
  expect(lines.join('').length).toBeLessThan(200_000)
})

test('lines without fields are bounded as well', () => {
  const lines: string[] = []
  const log = createLogger('test', 'info', { write: (line) => void lines.push(line) })
  for (let n = 0; n < 100; n += 1) log.warn('without fields')
  expect(lines).toHaveLength(50)
  expect(JSON.parse(lines[0] ?? '')).not.toHaveProperty('unreported')
})

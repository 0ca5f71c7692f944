import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { followRenewals } from '#libs/certificates/follow-renewals.ts'
import { until } from '../../../support/until.ts'

/** Follows the results of `read`. `untilRead` resolves when `read` has been called this many more times. */
function follow(read: () => Promise<string>) {
  const [lines, used]: [string[], string[]] = [[], []]
  let reads = 0
  const stop = followRenewals({
    async read() {
      reads += 1
      return await read()
    },
    inUse: 'first',
    use: (value) => void used.push(value),
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
    everyMs: 1,
  })
  onTestFinished(stop)
  const untilRead = async (times: number) => {
    const goal = reads + times
    await until(async () => await Promise.resolve(reads >= goal))
  }
  return { lines, used, untilRead }
}

test('certificates that are in use already are not used again', async () => {
  const { lines, used, untilRead } = follow(async () => await Promise.resolve('first'))
  await untilRead(3)
  expect([lines, used]).toEqual([[], []])
})

test('a failure is logged once, another one once more, and a renewal after it is used', async () => {
  let current = async () => await Promise.resolve('first')
  const { lines, used, untilRead } = follow(async () => await current())
  current = async () => await Promise.reject(new Error('no certificate'))
  await untilRead(3)
  current = async () => await Promise.reject(new Error('not its key'))
  await untilRead(3)
  expect(lines).toHaveLength(2)
  expect(used).toEqual([])
  current = async () => await Promise.resolve('second')
  await untilRead(3)
  expect(lines).toHaveLength(3)
  expect(used).toEqual(['second'])
})

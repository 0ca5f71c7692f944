import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createCreditLine } from '#apps/gateway/generation/credit-line.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const NEVER = new AbortController().signal

function setUp({ limitMs = 3_000 } = {}) {
  const ends: string[] = []
  const line = createCreditLine({ limitMs, onEnd: (end) => ends.push(end) })
  return { line, ends }
}

const pass = async (ms: number) => await vi.advanceTimersByTimeAsync(ms)

test('the first of a line asks again and again; the next one asks when the first has its answer', async () => {
  const { line, ends } = setUp()
  const asked: string[] = []
  let credits = 0
  const wait = (who: string) =>
    line.wait('account', NEVER, async () => {
      asked.push(who)
      if (credits === 0) return null
      credits -= 1
      return who
    })
  const answers = Promise.all([wait('a'), wait('b'), wait('c')])
  expect([line.open('other', 'account'), line.open('other', 'third')]).toEqual(['account', null])
  await pass(450)
  expect(asked).toEqual(['a', 'a'])
  credits = 2
  await pass(200)
  expect(asked).toEqual(['a', 'a', 'a', 'b', 'c'])
  credits = 1
  await pass(200)
  expect(await answers).toEqual(['a', 'b', 'c'])
  expect([ends, line.open('account')]).toEqual([['answered', 'answered', 'answered'], null])
})

test('a wait is bounded, for the first of a line and for the others', async () => {
  const { line, ends } = setUp({ limitMs: 500 })
  const answers = Promise.all([1, 2].map(async () => await line.wait('account', NEVER, async () => null)))
  await pass(500)
  expect(await answers).toEqual([null, null])
  expect([ends, line.open('account'), vi.getTimerCount()]).toEqual([['over', 'over'], null, 0])
})

test('a caller who leaves is asked for no longer, and the line moves on', async () => {
  const { line, ends } = setUp()
  const leaving = new AbortController()
  const asked: string[] = []
  const ask = (who: string) => async () => {
    asked.push(who)
    return who === 'b' ? who : null
  }
  const answers = Promise.all([
    line.wait('account', leaving.signal, ask('a')),
    line.wait('account', NEVER, ask('b')),
  ])
  leaving.abort()
  await pass(0)
  expect(await answers).toEqual([null, 'b'])
  expect([asked, ends]).toEqual([['b'], ['left', 'answered']])
})

test('no more than 64 requests of a line wait, and lines are apart', async () => {
  const { line, ends } = setUp({ limitMs: 1_000 })
  const refused = Promise.all(
    Array.from({ length: 65 }, async () => await line.wait('account', NEVER, async () => null)),
  )
  expect(ends).toEqual(['full'])
  const other = line.wait('other', NEVER, async () => 'granted')
  await pass(200)
  expect(await other).toBe('granted')
  await pass(1_000)
  await refused
})

test('an error of the question ends the wait, not the line', async () => {
  const { line } = setUp()
  const failing = line.wait('account', NEVER, async () => {
    throw new Error('billing is away')
  })
  const next = line.wait('account', NEVER, async () => 'granted')
  const ended = Promise.allSettled([failing, next])
  await pass(200)
  expect(await ended).toMatchObject([
    { status: 'rejected', reason: { message: 'billing is away' } },
    { status: 'fulfilled', value: 'granted' },
  ])
})

test('with a limit of 0 nobody waits', async () => {
  const { line, ends } = setUp({ limitMs: 0 })
  expect(await line.wait('account', NEVER, async () => 'granted')).toBeNull()
  expect(ends).toEqual([])
})

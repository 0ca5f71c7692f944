import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createCreditLine } from '#apps/gateway/generation/holds/credit-line.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const NEVER = new AbortController().signal
const NO_LIMIT = { signal: NEVER, mostMs: Infinity, bytes: 0, refused: null }

function setUp({ limitMs = 30_000 } = {}) {
  const ends: string[] = []
  const creditLine = createCreditLine<string>({
    limitMs,
    onEnd: (end) => ends.push(end),
    nowMs: () => performance.now(),
  })
  const line = (name: string, accountId = name) => ({ name, accountId })
  return { creditLine, line, ends }
}

const pass = async (ms: number) => await vi.advanceTimersByTimeAsync(ms)

test('the first of a line asks once a second; the next one asks when the first has its answer', async () => {
  const { creditLine, line, ends } = setUp()
  const asked: string[] = []
  let credits = 0
  const wait = (who: string) =>
    creditLine.wait(line('account'), NO_LIMIT, async () => {
      asked.push(who)
      if (credits === 0) return null
      credits -= 1
      return who
    })
  const answers = Promise.all([wait('a'), wait('b'), wait('c')])
  expect([creditLine.open('other', 'account'), creditLine.open('other', 'third')]).toEqual(['account', null])
  await pass(2_500)
  expect(asked).toEqual(['a', 'a', 'a'])
  credits = 2
  await pass(1_000)
  expect(asked).toEqual(['a', 'a', 'a', 'a', 'b', 'c'])
  credits = 1
  await pass(1_000)
  expect(await answers).toEqual(['a', 'b', 'c'])
  expect([ends, creditLine.open('account')]).toEqual([['answered', 'answered', 'answered'], null])
})

test('the lines of one account ask once a second together', async () => {
  const { creditLine, line } = setUp()
  let asked = 0
  const waits = ['a', 'b', 'c', 'd'].map(async (name) => {
    await creditLine.wait(line(name, 'account'), NO_LIMIT, async (_, { isOver }) => {
      asked += 1
      return isOver ? name : null
    })
  })
  await pass(20_000)
  expect(asked).toBeLessThanOrEqual(4 + 20)
  await pass(10_000)
  await Promise.all(waits)
})

test('a refusal is known to the whole line for a moment, until a request is granted', async () => {
  const { creditLine, line } = setUp()
  const seen: (string | null)[] = []
  const noted = creditLine.wait(line('account'), { ...NO_LIMIT, refused: 'little' }, async (notes) => {
    seen.push(notes.latest())
    if (seen.length === 1) return null
    notes.note('less')
    return 'first'
  })
  const next = creditLine.wait(line('account'), NO_LIMIT, async (notes) => {
    seen.push(notes.latest())
    notes.note(null)
    seen.push(notes.latest())
    return 'second'
  })
  await pass(1_000)
  expect(await Promise.all([noted, next])).toEqual(['first', 'second'])
  expect(seen).toEqual(['little', null, 'less', null])
})

test('a wait is bounded, for the first of a line and for the others: at its end it asks a last time', async () => {
  const { creditLine, line, ends } = setUp({ limitMs: 500 })
  const asked: unknown[] = []
  const wait = async (mostMs: number) =>
    await creditLine.wait(
      line('account'),
      { ...NO_LIMIT, mostMs },
      async (_, { isOver, waitedMs, leftMs }) => {
        asked.push([isOver, waitedMs, leftMs])
        return isOver ? 'refused' : null
      },
    )
  const answers = Promise.all([wait(Infinity), wait(300)])
  await pass(300)
  expect(asked).toEqual([
    [false, 0, 500],
    [true, 300, 0],
  ])
  await pass(200)
  expect(await answers).toEqual(['refused', 'refused'])
  expect([ends, creditLine.open('account'), vi.getTimerCount()]).toEqual([['over', 'over'], null, 0])
})

test('a caller who leaves is asked for no longer, and the line moves on', async () => {
  const { creditLine, line, ends } = setUp()
  const leaving = new AbortController()
  const asked: string[] = []
  const ask = (who: string) => async () => {
    asked.push(who)
    return who === 'b' ? who : null
  }
  const answers = Promise.all([
    creditLine.wait(line('account'), { ...NO_LIMIT, signal: leaving.signal }, ask('a')),
    creditLine.wait(line('account'), NO_LIMIT, ask('b')),
  ])
  await pass(0)
  leaving.abort()
  await pass(0)
  expect(await answers).toEqual([null, 'b'])
  expect([asked, ends]).toEqual([
    ['a', 'b'],
    ['left', 'answered'],
  ])
})

test('no more than 64 requests of a line wait, and lines are apart', async () => {
  const { creditLine, line, ends } = setUp({ limitMs: 1_000 })
  const lasts: boolean[] = []
  const all = Promise.all(
    Array.from({ length: 65 }, async () =>
      creditLine.wait(line('account'), NO_LIMIT, async (_, { isOver }) => {
        lasts.push(isOver)
        return isOver ? 'refused' : null
      }),
    ),
  )
  await pass(0)
  // The one that finds no place asks a last time at once.
  expect([ends, lasts.length, lasts.filter((isLast) => isLast).length]).toEqual([['full'], 2, 1])
  const other = creditLine.wait(line('other'), NO_LIMIT, async () => 'granted')
  expect(await other).toBe('granted')
  await pass(1_000)
  await all
})

test('the waiting requests of an account take bounded memory, whatever lines they are in', async () => {
  const { creditLine, line, ends } = setUp({ limitMs: 500 })
  const asked: string[] = []
  const wait = async (name: string, account: string) =>
    await creditLine.wait(
      line(name, account),
      { ...NO_LIMIT, bytes: 5 * 1_048_576 },
      async (_, { isOver }) => {
        if (isOver) asked.push(name)
        return isOver ? 'refused' : null
      },
    )
  const own = ['a', 'b', 'c', 'd'].map(async (name) => await wait(name, 'account'))
  const other = wait('e', 'other')
  await pass(0)
  // Three requests of 5 MiB fit in the 16 MiB of an account.
  expect([ends, asked]).toEqual([['full'], ['d']])
  await pass(500)
  expect(await Promise.all([...own, other])).toEqual(Array.from({ length: 5 }, () => 'refused'))
  expect(ends).toEqual(['full', 'over', 'over', 'over', 'over'])
})

test('an error of the question ends the wait, not the line', async () => {
  const { creditLine, line } = setUp()
  const failing = creditLine.wait(line('account'), NO_LIMIT, async () => {
    throw new Error('billing is away')
  })
  const next = creditLine.wait(line('account'), NO_LIMIT, async () => 'granted')
  expect(await Promise.allSettled([failing, next])).toMatchObject([
    { status: 'rejected', reason: { message: 'billing is away' } },
    { status: 'fulfilled', value: 'granted' },
  ])
})

test('with a limit of 0, and behind its deadline, no request waits', async () => {
  const { creditLine, line, ends } = setUp({ limitMs: 0 })
  const last = async (_: unknown, { isOver }: { isOver: boolean }) => (isOver ? 'last' : null)
  expect(await creditLine.wait(line('account'), NO_LIMIT, last)).toBe('last')
  const waiting = setUp()
  expect(await waiting.creditLine.wait(line('account'), { ...NO_LIMIT, mostMs: -1 }, last)).toBe('last')
  expect([ends, waiting.ends]).toEqual([[], []])
})

test('when the gateway stops, every wait ends at once, so that its caller can wait elsewhere', async () => {
  const { creditLine, line, ends } = setUp()
  const wait = async (name: string) =>
    await creditLine.wait(line(name), NO_LIMIT, async () => null).catch((error: unknown) => error)
  const waits = [wait('a'), wait('a'), wait('b')]
  await pass(1_500)
  creditLine.stop()
  const refused = { code: 'model_unavailable', retryAfterS: 1 }
  expect(await Promise.all([...waits, wait('c')])).toMatchObject([refused, refused, refused, refused])
  expect([ends, creditLine.open('a', 'b', 'c')]).toEqual([['left', 'left', 'left', 'left'], null])
})

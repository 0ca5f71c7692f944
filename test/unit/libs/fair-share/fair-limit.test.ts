import { expect, test } from 'vitest'
import { createFairLimit, createNamedLimit } from '#libs/fair-share/fair-limit.ts'

const NEVER = new AbortController().signal

const settled = async () => await new Promise((resolve) => setImmediate(resolve))

/** Creates works that record their start and run until the test ends them. */
function createWorks() {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const work = (name: string) => async () => {
    begun.push(name)
    const { promise, resolve } = Promise.withResolvers<void>()
    ends.set(name, resolve)
    await promise
    return name
  }
  const end = (name: string) => {
    const finish = ends.get(name)
    if (finish === undefined) throw new Error(`${name} has not begun`)
    finish()
  }
  return { begun, work, end }
}

test('never more than the capacity runs, and users who wait take turns', async () => {
  const { begun, work, end } = createWorks()
  const limit = createFairLimit(2)
  const many = limit.join(NEVER)
  const one = limit.join(NEVER)
  const results = ['a1', 'a2', 'a3', 'a4'].map((name) => many(work(name)))
  const late = one(work('b1'))
  await settled()
  expect(begun).toEqual(['a1', 'a2'])

  end('a1')
  expect(await results[0]).toBe('a1')
  await settled()
  expect(begun).toEqual(['a1', 'a2', 'a3'])
  end('a2')
  await results[1]
  await settled()
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1'])
  end('b1')
  expect(await late).toBe('b1')
  await settled()
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'a4'])
})

test('work that fails gives its place back', async () => {
  const run = createFairLimit(1).join(NEVER)
  const failing = run(async () => {
    throw new Error('no')
  })
  const next = run(async () => 'next')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('next')
  expect(await run(async () => 'later')).toBe('later')
})

test('work that waits when its user stops is not run, and others take its turn', async () => {
  const { begun, work, end } = createWorks()
  const limit = createFairLimit(1)
  const stopping = new AbortController()
  const stopped = limit.join(stopping.signal)
  const first = limit.join(NEVER)(work('first'))
  const waiting = [stopped(work('a')), stopped(work('b'))]
  const next = limit.join(NEVER)(work('next'))
  await settled()
  stopping.abort(new Error('stopped'))
  for (const each of waiting) await expect(each).rejects.toThrow('stopped')
  await expect(stopped(work('c'))).rejects.toThrow('stopped')
  end('first')
  await first
  await settled()
  expect(begun).toEqual(['first', 'next'])
  end('next')
  await next
})

test('users with names take turns too, and each runs at most its own part', async () => {
  const { begun, work, end } = createWorks()
  const run = createNamedLimit(3, 2)
  const results = ['a1', 'a2', 'a3'].map((name) => run('a', work(name)))
  results.push(...['b1', 'b2'].map((name) => run('b', work(name))), run('c', work('c1')))
  await settled()
  expect(begun).toEqual(['a1', 'a2', 'b1'])
  end('a1')
  await settled()
  // `a` waits behind `b` and `c`, who had waited before its next work.
  expect(begun.slice(3)).toEqual(['b2'])
  for (const name of ['a2', 'b1', 'b2']) end(name)
  await settled()
  expect(begun.slice(4).toSorted()).toEqual(['a3', 'c1'])
  for (const name of ['a3', 'c1']) end(name)
  expect(await Promise.all(results)).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'c1'])
})

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createPrefills } from '#apps/worker/run/prefills.ts'

/** Sets up the runs of one engine that computes 10,000 tokens of long prompts at once. */
function setUp() {
  const prefills = createPrefills(10_000)
  const began: string[] = []
  function add(name: string, tokens: number, { isStopped = false } = {}) {
    const abort = new AbortController()
    if (isStopped) abort.abort()
    const run = { signal: abort.signal }
    void prefills.begin(run, tokens).then(() => began.push(abort.signal.aborted ? `${name} left` : name))
    return { ends: () => prefills.end(run), leaves: () => abort.abort() }
  }
  /** Returns the runs that have begun since the last call. */
  const begun = async () => {
    await nextTurn()
    return began.splice(0)
  }
  return { add, begun }
}

test('long prompts begin in order of arrival, while fewer tokens than the limit are computed', async () => {
  const { add, begun } = setUp()
  const a = add('a', 6_000)
  const b = add('b', 6_000)
  const c = add('c', 4_000)
  add('d', 3_000)
  expect(await begun()).toEqual(['a', 'b'])
  b.ends()
  expect(await begun()).toEqual(['c'])
  c.ends()
  c.ends()
  expect(await begun()).toEqual(['d'])
  a.ends()
  add('e', 3_000)
  add('f', 4_000)
  add('g', 4_000)
  expect(await begun()).toEqual(['e', 'f'])
})

test('short prompts begin at once, also before long ones that wait, and count for nothing', async () => {
  const { add, begun } = setUp()
  const a = add('a', 20_000)
  add('b', 20_000)
  for (let count = 0; count < 20; count += 1) add('short', 2_048)
  expect(await begun()).toEqual(['a', ...Array.from({ length: 20 }, () => 'short')])
  a.ends()
  expect(await begun()).toEqual(['b'])
})

test('a prompt beyond the limit begins when no other long prompt is computed', async () => {
  const { add, begun } = setUp()
  const a = add('a', 50_000)
  const b = add('b', 50_000)
  expect(await begun()).toEqual(['a'])
  a.ends()
  expect(await begun()).toEqual(['b'])
  b.ends()
  add('c', 50_000)
  expect(await begun()).toEqual(['c'])
})

test('a run that is stopped stops waiting, and lets the next one pass', async () => {
  const { add, begun } = setUp()
  const a = add('a', 10_000)
  const b = add('b', 10_000)
  add('c', 10_000)
  b.leaves()
  expect(await begun()).toEqual(['a', 'b left'])
  b.ends()
  a.ends()
  expect(await begun()).toEqual(['c'])
})

test('a run that was stopped before it began is not counted', async () => {
  const { add, begun } = setUp()
  add('a', 10_000, { isStopped: true })
  add('b', 10_000)
  expect(await begun()).toEqual(['a left', 'b'])
})

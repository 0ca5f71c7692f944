import { expect, test } from 'vitest'
import { createPrefills } from '#apps/worker/run/room/prefills.ts'

const newRun = () => ({ signal: new AbortController().signal })

function setUp() {
  const state = { rooms: 0 }
  const prefills = createPrefills(10_000, () => void (state.rooms += 1))
  const add = (tokens: number) => {
    const [claim, run] = [{}, newRun()]
    const mayBeLong = prefills.expect(claim)
    prefills.pass(claim, run)
    prefills.begin(run, tokens)
    return { run, mayBeLong }
  }
  return { prefills, state, add }
}

test('long prompts are claimed while fewer tokens than the limit are computed', () => {
  const { prefills, add } = setUp()
  const [a, b] = [add(6_000), add(6_000)]
  expect([a.mayBeLong, b.mayBeLong]).toEqual([true, true])
  expect(prefills.expect({})).toBe(false)
  prefills.end(a.run)
  expect(prefills.expect({})).toBe(true)
})

test('one claim at a time may get a long prompt, until its prompt is counted', () => {
  const { prefills } = setUp()
  const [first, run] = [{}, newRun()]
  expect([prefills.expect(first), prefills.expect({})]).toEqual([true, false])
  prefills.pass(first, run)
  prefills.end(first)
  expect(prefills.expect({})).toBe(false)
  prefills.begin(run, 100)
  expect(prefills.expect({})).toBe(true)
})

test('a worker looks again when it has room, if it has left long prompts waiting', () => {
  const { prefills, state, add } = setUp()
  const { run } = add(20_000)
  expect(prefills.expect({})).toBe(false)
  prefills.end(run)
  expect(state.rooms).toBe(0)
  const next = add(20_000)
  prefills.missed()
  expect(state.rooms).toBe(0)
  prefills.end(next.run)
  expect(state.rooms).toBe(1)
})

test('a long prompt that was not claimed as such waits while the engine computes many tokens', () => {
  const { prefills, add } = setUp()
  const [short, hidden] = [newRun(), newRun()]
  const { run } = add(20_000)
  expect([prefills.begin(short, 100), prefills.begin(hidden, 5_000)]).toEqual([true, false])
  prefills.end(run)
  expect(prefills.begin(hidden, 5_000)).toBe(true)
})

import { expect, test } from 'vitest'
import { createEmbedInputs } from '#apps/worker/run/embedding/embed-inputs.ts'
import { createFairLimit } from '#libs/fair-share/fair-limit.ts'
import type { VectorChunk } from '#apps/worker/run/embedding/deliver-vectors.ts'
import { claimedGeneration, runningUnderTest } from '../running-under-test.ts'

const INPUTS = Array.from({ length: 200 }, (_, index) => Uint32Array.of(index, 0))

const QUIET = { onInput: () => {}, onVector: () => {} }

const openRun = () => runningUnderTest().running.open(claimedGeneration(), () => {})

/** Sets up an engine whose vectors contain the index of their input. `atIndex` is called for each index. */
function setUp(given: { atIndex?: (index: number) => void; deliver?: () => Promise<void> } = {}) {
  const seen = { running: 0, most: 0, calls: 0, cancelled: 0 }
  const delivered: { first: number; promptTokens: number; values: number[] }[] = []
  const embedInputs = createEmbedInputs({
    async embed({ promptIds }, signal) {
      const [index = -1] = promptIds
      seen.calls += 1
      seen.running += 1
      seen.most = Math.max(seen.most, seen.running)
      signal.addEventListener('abort', () => (seen.cancelled += 1))
      await new Promise((resolve) => setImmediate(resolve))
      seen.running -= 1
      given.atIndex?.(index)
      return { embedding: Float32Array.of(index), promptTokens: 1 }
    },
    limit: createFairLimit(5),
    async deliver(_run, { first, promptTokens, vectors }: VectorChunk) {
      delivered.push({ first, promptTokens, values: vectors.map(([value = -1]) => value) })
      await given.deliver?.()
    },
  })
  return { embedInputs, seen, delivered }
}

test('vectors are delivered in the order of their inputs, in chunks, each input counted once', async () => {
  const { embedInputs, seen, delivered } = setUp()
  let tokens = 0
  await embedInputs(openRun(), INPUTS, { ...QUIET, onInput: (count) => (tokens += count) })
  expect(delivered.map(({ first, promptTokens, values }) => [first, promptTokens, values.length])).toEqual([
    [0, 128, 64],
    [64, 128, 64],
    [128, 128, 64],
    [192, 16, 8],
  ])
  expect(delivered.flatMap(({ values }) => values)).toEqual(INPUTS.keys().toArray())
  expect(tokens).toBe(400)
  expect(seen).toMatchObject({ calls: 200, most: 5 })
})

test('two generations together have no more calls than the limit allows', async () => {
  const { embedInputs, seen } = setUp()
  await Promise.all([embedInputs(openRun(), INPUTS, QUIET), embedInputs(openRun(), INPUTS, QUIET)])
  expect(seen).toMatchObject({ calls: 400, most: 5 })
})

test('an input that fails ends them all: no further call begins', async () => {
  const { embedInputs, seen, delivered } = setUp({
    atIndex(index) {
      if (index === 70) throw new Error('the engine fell')
    },
  })
  await expect(embedInputs(openRun(), INPUTS, QUIET)).rejects.toThrow('the engine fell')
  expect(delivered.map(({ first }) => first)).toEqual([0])
  const { calls } = seen
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  expect(seen.calls).toBe(calls)
  expect(calls).toBeLessThan(100)
})

test('a stopped run cancels its calls, and nothing is counted after that', async () => {
  const run = openRun()
  const { embedInputs, seen } = setUp({
    atIndex(index) {
      if (index === 20) run.stop('unwanted')
    },
  })
  let tokens = 0
  await expect(embedInputs(run, INPUTS, { ...QUIET, onInput: (count) => (tokens += count) })).rejects.toThrow(
    'aborted',
  )
  // The engine was given the first 20 inputs, whose vectors came, and the five after them.
  expect(tokens).toBe(50)
  expect(seen.cancelled).toBeGreaterThan(0)
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  expect(tokens).toBe(50)
})

test('while no vectors are taken, only a few chunks are embedded ahead', async () => {
  const { promise: taken, resolve: take } = Promise.withResolvers<void>()
  const { promise: waits, resolve: waiting } = Promise.withResolvers<void>()
  const { embedInputs, seen } = setUp({
    deliver: async () => {
      waiting()
      await taken
    },
  })
  const inputs = Array.from({ length: 1_000 }, (_, index) => Uint32Array.of(index))
  const work = embedInputs(openRun(), inputs, QUIET)
  await waits
  for (let turn = 0; turn < 300; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  expect(seen.calls).toBe(4 * 64)
  take()
  await work
  expect(seen.calls).toBe(1_000)
})

test('a chunk of long inputs ends early, so that what is embedded counts before much of it is lost', async () => {
  const { embedInputs, delivered } = setUp()
  const inputs = Array.from({ length: 10 }, () => new Uint32Array(6_000))
  await embedInputs(openRun(), inputs, QUIET)
  expect(delivered.map(({ first, promptTokens }) => [first, promptTokens])).toEqual([
    [0, 18_000],
    [3, 18_000],
    [6, 18_000],
    [9, 6_000],
  ])
})

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createBlockPool } from '#apps/simulator/scheduler/block-pool.ts'
import {
  createScheduler,
  type Output,
  type Sequence,
  type Work,
} from '#apps/simulator/scheduler/scheduler.ts'

type Limits = { blocks?: number; blockSize?: number; maxNumSeqs?: number; maxNumBatchedTokens?: number }

/** Creates a scheduler whose steps take one unit of time, and a list of the work of each step. */
function setUp(limits: Limits = {}) {
  const pool = createBlockPool({ blocks: limits.blocks ?? 100, blockSize: limits.blockSize ?? 4 })
  const steps: Work[] = []
  const scheduler = createScheduler({
    pool,
    maxNumSeqs: limits.maxNumSeqs ?? 8,
    maxNumBatchedTokens: limits.maxNumBatchedTokens ?? 64,
    durationMs(work) {
      steps.push(work)
      return 1
    },
  })
  let now = 0
  return {
    pool,
    scheduler,
    steps,
    /** Runs until there is no more work. Returns the outputs of each step. */
    run(maxSteps = 1_000): Output[][] {
      const all: Output[][] = []
      for (let i = 0; i < maxSteps; i++) {
        const { outputs, nextAt } = scheduler.step(now)
        if (outputs.length > 0) all.push(outputs)
        if (nextAt === null) break
        now = nextAt
      }
      return all
    },
  }
}

/** Writes `tokens` tokens, numbered from 1000 on. */
function sequence(promptIds: readonly number[], tokens: number, readsPrefixCache = true): Sequence {
  let written = 0
  return {
    promptIds,
    readsPrefixCache,
    cacheSalt: null,
    next() {
      written += 1
      return { tokenId: 999 + written, ended: written >= tokens }
    },
  }
}

const ids = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i)

describe('time', () => {
  test('a step completes when its time has come and not before', () => {
    const { scheduler } = setUp()
    scheduler.add(sequence([1, 2], 1))
    expect(scheduler.step(10)).toEqual({ outputs: [], nextAt: 11 })
    expect(scheduler.step(10.5)).toEqual({ outputs: [], nextAt: 11 })
    expect(scheduler.step(11).outputs).toHaveLength(1)
  })

  test('a timer that fires a little late does not slow the following steps down', () => {
    const { scheduler } = setUp()
    scheduler.add(sequence([1, 2], 9))
    scheduler.step(0)
    expect(scheduler.step(1.4).nextAt).toBe(2)
  })

  test('after a long pause steps do not hurry to catch up', () => {
    const { scheduler } = setUp()
    scheduler.add(sequence([1, 2], 9))
    scheduler.step(0)
    expect(scheduler.step(50).nextAt).toBe(51)
  })

  test('an idle scheduler has nothing to wait for', () => {
    expect(setUp().scheduler.step(5)).toEqual({ outputs: [], nextAt: null })
  })
})

describe('the budget of a step', () => {
  test('a long prompt is computed in chunks of the budget and gives its first token after the last chunk', () => {
    const { scheduler, steps, run } = setUp({ maxNumBatchedTokens: 10 })
    scheduler.add(sequence(ids(25), 1))
    expect(run()).toHaveLength(1)
    expect(steps.map((step) => step.prefillTokens)).toEqual([10, 10, 5])
  })

  test('running sequences come first and prompts get the rest of the budget', () => {
    const { scheduler, steps, run } = setUp({ maxNumBatchedTokens: 10 })
    scheduler.add(sequence([1, 2], 6))
    run(2)
    scheduler.add(sequence(ids(18, 100), 1))
    run()
    // One token of the budget goes to the running sequence in each step.
    expect(steps.filter((step) => step.sequences === 2).map((step) => step.prefillTokens)).toEqual([9, 9])
  })

  test('no more sequences run than allowed, and the others start in order of arrival', () => {
    const { scheduler, run } = setUp({ maxNumSeqs: 2 })
    const sequences = ids(5).map((i) => sequence([i, i, i], 2))
    for (const each of sequences) scheduler.add(each)
    const steps = run()
    expect(Math.max(...steps.map((outputs) => outputs.length))).toBe(2)
    const order = steps.flat().filter((output) => output.ended)
    expect(order.map((output) => sequences.indexOf(output.sequence))).toEqual([0, 1, 2, 3, 4])
  })
})

describe('the prefix cache', () => {
  test('finds full blocks, at least one token short of the prompt', () => {
    const { scheduler, run } = setUp({ blockSize: 4 })
    const cachedOf = (prompt: readonly number[]) => {
      scheduler.add(sequence(prompt, 1))
      return run().flat()[0]?.cachedTokens
    }
    expect(cachedOf(ids(9))).toBe(0)
    expect(cachedOf(ids(9))).toBe(8)
    expect(cachedOf(ids(11))).toBe(8)
    // Two full blocks are cached, but the model must compute at least one token.
    expect(cachedOf(ids(8))).toBe(4)
    expect(cachedOf([0, 1, 2, 3, 9, 9, 9, 9, 9])).toBe(4)
    expect(cachedOf([7, ...ids(9)])).toBe(0)
  })

  test('holds outputs too: the next turn of a conversation finds them', () => {
    const { scheduler, run } = setUp({ blockSize: 4 })
    scheduler.add(sequence(ids(6), 7))
    run()
    scheduler.add(sequence([...ids(6), 1000, 1001, 1002, 1003, 1004, 1005, 1006, 5, 5], 1))
    expect(run().flat()[0]?.cachedTokens).toBe(12)
  })

  test('is not read by a prompt whose every position must be computed', () => {
    const { scheduler, run } = setUp({ blockSize: 4 })
    scheduler.add(sequence(ids(9), 1))
    run()
    scheduler.add(sequence(ids(9), 1, false))
    expect(run().flat()[0]?.cachedTokens).toBe(0)
  })

  test('gives way when the space is needed, least recently used first', () => {
    const { scheduler, run } = setUp({ blockSize: 4, blocks: 6 })
    const cachedOf = (prompt: readonly number[]) => {
      scheduler.add(sequence(prompt, 1))
      return run().flat()[0]?.cachedTokens
    }
    cachedOf(ids(9, 100))
    cachedOf(ids(9, 200))
    expect(cachedOf(ids(9, 100))).toBe(8)
    // This prompt needs two more blocks, which are taken from the cache: the second prompt's blocks.
    cachedOf(ids(9, 300))
    expect(cachedOf(ids(9, 100))).toBe(8)
    expect(cachedOf(ids(9, 200))).toBeLessThan(8)
  })

  test('loses the end of a prompt before its beginning, without which the end is useless', () => {
    const { scheduler, run } = setUp({ blockSize: 4, blocks: 4 })
    const cachedOf = (prompt: readonly number[]) => {
      scheduler.add(sequence(prompt, 1))
      return run().flat()[0]?.cachedTokens
    }
    cachedOf(ids(13))
    cachedOf(ids(3, 100))
    expect(cachedOf(ids(13))).toBe(12)
  })

  test('is forgotten on demand, but not while a sequence runs', () => {
    const { scheduler, run } = setUp({ blockSize: 4 })
    scheduler.add(sequence(ids(9), 3))
    run(2)
    expect(scheduler.flushCache()).toBe(false)
    run()
    expect(scheduler.flushCache()).toBe(true)
    scheduler.add(sequence(ids(9), 1))
    expect(run().flat()[0]?.cachedTokens).toBe(0)
  })
})

describe('a full cache', () => {
  test('the latest sequence gives up its blocks and computes again, and loses nothing of its output', () => {
    // Each sequence has four blocks at its end, but there are only six blocks.
    const { scheduler, steps, run } = setUp({ blockSize: 4, blocks: 6 })
    const [first, second] = [sequence(ids(6, 10), 10), sequence(ids(6, 50), 10)]
    scheduler.add(first)
    scheduler.add(second)
    const outputs = run().flat()
    const tokensOf = (wanted: Sequence) =>
      outputs.filter((output) => output.sequence === wanted).map((output) => output.tokenId)
    expect(tokensOf(first)).toEqual(ids(10, 1000))
    expect(tokensOf(second)).toEqual(ids(10, 1000))
    const ends = outputs.filter((output) => output.ended).map((output) => output.sequence)
    expect(ends).toEqual([first, second])
    // The prompts have twelve tokens in total, and a part of the second prompt was computed twice.
    expect(steps.reduce((sum, step) => sum + step.prefillTokens, 0)).toBeGreaterThan(12)
  })

  test('a preempted sequence is first when there is room again, before those that never ran', () => {
    const { scheduler, run } = setUp({ blockSize: 4, blocks: 6, maxNumSeqs: 2 })
    const [first, second, third] = [sequence(ids(6, 10), 10), sequence(ids(6, 50), 10), sequence([1], 10)]
    for (const each of [first, second, third]) scheduler.add(each)
    const outputs = run().flat()
    const endOfFirst = outputs.findIndex((output) => output.sequence === first && output.ended)
    const startOfThird = outputs.findIndex((output) => output.sequence === third)
    // The third sequence needs one block, which is free all the time.
    expect(startOfThird).toBeGreaterThan(endOfFirst)
    expect(outputs.filter((output) => output.sequence === second)).toHaveLength(10)
  })

  test('a preempted sequence does not start again in the same step', () => {
    // The free blocks are enough for the second sequence's first chunk, but then it would be preempted at once.
    const { scheduler, steps, run } = setUp({ blockSize: 4, blocks: 6, maxNumBatchedTokens: 4 })
    scheduler.add(sequence(ids(8, 10), 12))
    scheduler.add(sequence(ids(8, 50), 12, false))
    run()
    const alone = steps.findIndex((step, i) => step.sequences === 1 && steps[i - 1]?.sequences === 2)
    expect(steps[alone]).toEqual({ sequences: 1, prefillTokens: 0 })
  })
})

describe('abort', () => {
  test('frees the blocks of a running sequence at once and gives no further output', () => {
    const { scheduler, pool, run } = setUp()
    const running = sequence(ids(9), 50)
    scheduler.add(running)
    run(3)
    expect(pool.used()).toBeGreaterThan(0)
    expect(scheduler.abort(running)).toBe(true)
    expect(pool.used()).toBe(0)
    expect(run()).toEqual([])
    expect(scheduler.abort(running)).toBe(false)
  })

  test('takes a waiting sequence out of the queue; the counts follow with the next step', () => {
    const { scheduler, run } = setUp({ maxNumSeqs: 1 })
    scheduler.add(sequence(ids(9), 50))
    const waiting = sequence(ids(5, 100), 50)
    scheduler.add(waiting)
    run(2)
    expect(scheduler.load()).toMatchObject({ running: 1, waiting: 1, waitingUncachedTokens: 5 })
    scheduler.abort(waiting)
    expect(scheduler.load()).toMatchObject({ waiting: 1 })
    run(2)
    expect(scheduler.load()).toMatchObject({ running: 1, waiting: 0, waitingUncachedTokens: 0 })
  })
})

test('whatever comes and goes, every sequence gets its tokens and no block stays taken', () => {
  const anySequence = fc.record({
    prompt: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 30 }),
    tokens: fc.integer({ min: 1, max: 20 }),
    abortAfter: fc.option(fc.integer({ min: 0, max: 40 })),
  })
  fc.assert(
    fc.property(fc.array(anySequence, { minLength: 1, maxLength: 12 }), (wanted) => {
      // The least that one sequence needs: blocks for fifty tokens, and one more block, which the last token opens.
      const { scheduler, pool } = setUp({ blocks: 13, blockSize: 4, maxNumSeqs: 4, maxNumBatchedTokens: 16 })
      const made = wanted.map((each) => ({
        ...each,
        sequence: sequence(each.prompt, each.tokens),
        got: 0,
        over: false,
      }))
      for (const each of made) scheduler.add(each.sequence)
      let now = 0
      for (let step = 0; step < 5_000; step++) {
        for (const each of made)
          if (each.abortAfter === step) each.over = scheduler.abort(each.sequence) || each.over
        const { outputs, nextAt } = scheduler.step(now)
        for (const output of outputs) {
          const one = made.find((each) => each.sequence === output.sequence)
          if (one === undefined || one.over) throw new Error('output of a sequence that is over')
          one.got += 1
          one.over = output.ended
          expect(output.cachedTokens % pool.blockSize).toBe(0)
          expect(output.cachedTokens).toBeLessThan(one.prompt.length)
        }
        if (nextAt === null) break
        now = nextAt
      }
      expect(made.every((each) => each.over)).toBe(true)
      expect(made.every((each) => each.got === each.tokens || each.abortAfter !== null)).toBe(true)
      expect(pool.used()).toBe(0)
    }),
  )
})

import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createStopSettled } from '#apps/worker/run/settled/stop-settled.ts'
import { generationJob } from '../../../../../support/generation-job.ts'
import { claimedGeneration, runningUnderTest } from '../running-under-test.ts'

function setUp(answer: (ids: readonly string[]) => Promise<ReadonlySet<string>>) {
  const { running } = runningUnderTest()
  const state = { awayMs: 0 }
  const asked: [string, readonly string[]][] = []
  const open = (model: string, stream: number) =>
    running.open(claimedGeneration(generationJob({ model, stream })), () => {})
  const stopSettled = createStopSettled({
    busAwayMs: () => state.awayMs,
    live: running.live,
    record: {
      async settledOf(model, ids) {
        asked.push([model, ids])
        return await answer(ids)
      },
    },
    log: pino({ level: 'silent' }),
  })
  return { open, state, asked, stopSettled }
}

test('while the bus is away, runs that are settled or gone are stopped; the records are asked by model', async () => {
  const { open, state, asked, stopSettled } = setUp(async (ids) => new Set(ids.slice(0, 1)))
  const runs = [open('a', 1), open('a', 2), open('b', 3)]
  state.awayMs = 3_001
  await stopSettled()
  expect(runs.map((run) => run.stopReason())).toEqual(['unwanted', null, 'unwanted'])
  expect(asked.map(([model, ids]) => [model, ids.length])).toEqual([
    ['a', 2],
    ['b', 1],
  ])
  for (const run of runs) run.close()
})

test('a bus that answers is not doubted', async () => {
  const { open, state, asked, stopSettled } = setUp(async (ids) => new Set(ids))
  const run = open('a', 1)
  state.awayMs = 3_000
  await stopSettled()
  expect([asked, run.stopReason()]).toEqual([[], null])
  run.close()
})

test('a queue Redis that is away as well stops nothing, and is asked once at a time', async () => {
  const { promise, reject } = Promise.withResolvers<ReadonlySet<string>>()
  const { open, state, asked, stopSettled } = setUp(async () => await promise)
  const run = open('a', 1)
  state.awayMs = 5_000
  const first = stopSettled()
  await stopSettled()
  expect(asked).toHaveLength(1)
  reject(new Error('Command timed out'))
  await first
  expect(run.stopReason()).toBeNull()
  run.close()
})

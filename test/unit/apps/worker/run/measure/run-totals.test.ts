import { expect, test } from 'vitest'
import { createRunTotals } from '#apps/worker/run/measure/run-totals.ts'
import { createRun, type RunningGeneration } from '#apps/worker/run/running-generation.ts'
import { NO_SPAN } from '#libs/telemetry/span.ts'
import { claimedGeneration } from '../running-under-test.ts'

function open(ids = new Uint32Array(0)): RunningGeneration {
  const claim = claimedGeneration(undefined, { ids })
  return createRun(claim, {
    send: () => {},
    onChoiceEnd: () => {},
    onClose: () => {},
    span: NO_SPAN,
    nowMs: () => Date.now(),
  })
}

test('tokens count as they come, and stay counted after the end', () => {
  const live = new Set<RunningGeneration>()
  const totals = createRunTotals(() => live)
  const run = open()
  live.add(run)
  run.usage.promptTokens = 100
  run.usage.cachedTokens = 32
  expect(totals.totals()).toEqual({ ended: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0 })
  run.choices[0].noteOutput([1, 2, 3])
  const counted = { promptTokens: 100, cachedTokens: 32, outputTokens: 3 }
  expect(totals.totals()).toEqual({ ended: 0, ...counted })
  live.delete(run)
  totals.noteEnd(run, 1_000)
  run.close()
  expect(totals.totals()).toEqual({ ended: 1, ...counted })
})

test('a continued generation counts the replayed output as read, not as written', () => {
  const totals = createRunTotals(() => [])
  const run = open(Uint32Array.of(1, 2, 3, 4))
  run.usage.promptTokens = 10
  run.choices[0].noteOutput([5, 6])
  totals.noteEnd(run, 1_000)
  run.close()
  expect(totals.totals()).toEqual({ ended: 1, promptTokens: 14, cachedTokens: 0, outputTokens: 2 })
})

test('a run that the engine gave nothing for counts neither as ended nor in the mean time', () => {
  const totals = createRunTotals(() => [])
  const run = open()
  run.usage.promptTokens = 10
  totals.noteEnd(run, 1_000)
  run.close()
  expect([totals.totals().ended, totals.totals().promptTokens, totals.meanMs()]).toEqual([0, 0, null])
})

function end(totals: ReturnType<typeof createRunTotals>, ms: number, promptTokens: number) {
  const run = open()
  run.usage.promptTokens = promptTokens
  run.choices[0].noteOutput([1])
  totals.noteEnd(run, ms)
  run.close()
}

test('the mean time follows the last runs', () => {
  const totals = createRunTotals(() => [])
  for (const ms of [1_000, 2_000]) end(totals, ms, 0)
  expect(totals.meanMs()).toBe(1_100)
})

test('the tokens of a slot in a second are those of all runs by their time, the latest hundred above all', () => {
  const totals = createRunTotals(() => [])
  expect(totals.slotTokensPerS()).toBeNull()
  end(totals, 1_000, 299)
  end(totals, 4_000, 99)
  expect(totals.slotTokensPerS()).toBe(80)
  for (let turn = 0; turn < 1_000; turn += 1) end(totals, 2_000, 19)
  expect(totals.slotTokensPerS()).toBeCloseTo(10, 1)
})

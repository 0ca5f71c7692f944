import { expect, test } from 'vitest'
import { createRunTotals } from '#apps/worker/run/run-totals.ts'
import { createRun, type RunningGeneration } from '#apps/worker/run/running-generation.ts'
import { NO_SPAN } from '#libs/telemetry/span.ts'
import { claimedGeneration } from './running-under-test.ts'

function open(ids = new Uint32Array(0)): RunningGeneration {
  const claim = claimedGeneration(undefined, { ids })
  return createRun(claim, { send: () => {}, onClose: () => {}, span: NO_SPAN, nowMs: () => Date.now() })
}

test('tokens count as they come, and stay counted after the end', () => {
  const live = new Set<RunningGeneration>()
  const totals = createRunTotals(() => live)
  const run = open()
  live.add(run)
  run.usage.promptTokens = 100
  run.usage.cachedTokens = 32
  expect(totals.totals()).toEqual({ ended: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0 })
  run.noteOutput([1, 2, 3])
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
  run.usage.completionTokens = 6
  run.noteOutput([5, 6])
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
  expect([totals.totals().ended, totals.totals().promptTokens, totals.means()]).toEqual([0, 0, null])
})

test('the means of time and tokens follow the last runs', () => {
  const totals = createRunTotals(() => [])
  for (const ms of [1_000, 2_000]) {
    const run = open()
    run.usage.promptTokens = ms / 100
    run.noteOutput([1])
    totals.noteEnd(run, ms)
    run.close()
  }
  expect(totals.means()).toEqual({ ms: 1_100, tokens: 12 })
})

import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { RunningGeneration } from '#apps/worker/running-generations.ts'
import { createSettlements } from '#apps/worker/settlements.ts'
import type { SettleResult } from '#libs/generation-record/generation-record.ts'
import { generationJob } from '../../../support/generation-job.ts'

function setUp(answers: (SettleResult | Error)[], nowMs = Date.now()) {
  const sent: unknown[] = []
  const settlements = createSettlements({
    record: {
      async settle(model, settlement) {
        sent.push([model, settlement])
        const answer = answers.shift()
        if (answer instanceof Error || answer === undefined) throw answer ?? new Error('no more answers')
        return answer
      },
    },
    holdGraceMs: 60_000,
    nowMs: () => nowMs,
    log: pino({ level: 'silent' }),
  })
  const job = generationJob()
  const run: RunningGeneration = {
    job,
    epoch: 2,
    usage: { promptTokens: 3, cachedTokens: 2, completionTokens: 5, reasoningTokens: 1 },
    hasOutput: true,
    signal: new AbortController().signal,
    stopReason: () => null,
    stop: () => {},
    send: () => {},
    close: () => {},
  }
  return { settlements, run, job, sent }
}

test('a settlement names its generation, epoch and usage, and carries the receipt of its hold', async () => {
  const { settlements, run, job, sent } = setUp(['recorded'])
  settlements.add(run, 'completed')
  await settlements.drain()
  expect(sent).toEqual([
    [
      job.model,
      {
        id: job.id,
        epoch: 2,
        outcome: 'completed',
        promptTokens: 3,
        cachedTokens: 2,
        completionTokens: 5,
        receipt: 'receipt',
      },
    ],
  ])
})

test('it is sent again until Redis answers, and counted as pending meanwhile', async () => {
  const { settlements, run, sent } = setUp([
    new Error('Connection is closed.'),
    new Error('Command timed out'),
    'settled',
  ])
  settlements.add(run, 'cancelled')
  expect(settlements.pending()).toBe(1)
  await settlements.drain()
  expect(sent).toHaveLength(3)
  expect(settlements.pending()).toBe(0)
})

test('it is dropped when the hold has expired by itself', async () => {
  const { settlements, run, sent } = setUp([new Error('Connection is closed.')], Date.now() + 600_000)
  settlements.add(run, 'completed')
  await settlements.drain()
  expect(sent).toHaveLength(1)
})

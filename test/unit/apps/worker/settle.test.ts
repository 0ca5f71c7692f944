import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { RunningGeneration } from '#apps/worker/running-generations.ts'
import { createSettle } from '#apps/worker/settle.ts'
import type { SettleResult } from '#libs/generation-record/generation-record.ts'
import { generationJob } from '../../../support/generation-job.ts'

const USAGE = { promptTokens: 3, cachedTokens: 2, completionTokens: 5, reasoningTokens: 1 }

function setUp(answers: (SettleResult | Error)[], nowMs = Date.now()) {
  const sent: unknown[] = []
  const settle = createSettle({
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
    signal: new AbortController().signal,
    stopReason: () => null,
    stop: () => {},
    send: () => {},
    close: () => {},
  }
  return { settle, run, job, sent }
}

test('a settlement names its generation, epoch and usage, and carries the receipt of its hold', async () => {
  const { settle, run, job, sent } = setUp(['recorded'])
  settle.settle(run, { outcome: 'completed', usage: USAGE })
  await settle.drain()
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
  const { settle, run, sent } = setUp([
    new Error('Connection is closed.'),
    new Error('Command timed out'),
    'settled',
  ])
  settle.settle(run, { outcome: 'cancelled', usage: USAGE })
  expect(settle.pending()).toBe(1)
  await settle.drain()
  expect(sent).toHaveLength(3)
  expect(settle.pending()).toBe(0)
})

test('it is given up when the hold has expired by itself', async () => {
  const { settle, run, sent } = setUp([new Error('Connection is closed.')], Date.now() + 600_000)
  settle.settle(run, { outcome: 'completed', usage: USAGE })
  await settle.drain()
  expect(sent).toHaveLength(1)
})

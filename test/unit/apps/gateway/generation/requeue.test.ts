import { expect, test } from 'vitest'
import { createRequeue } from '#apps/gateway/generation/requeue.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { createStreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { Raise } from '#libs/generation-record/generation-record.ts'
import { generationJob } from '../../../../support/generation-job.ts'

function setUp(given: { raise?: Raise } = {}) {
  const log: string[] = []
  const raised: GenerationJob[] = []
  const requeue = createRequeue({
    record: {
      async raise(job, { epoch, keepJob }) {
        log.push(`raise ${epoch} ${keepJob ? 'same job' : 'new hold'}`)
        raised.push(job)
        return given.raise ?? { status: 'raised', epoch: epoch + 1 }
      },
    },
    tickets: {
      async add(_model, { epoch }, priority) {
        log.push(`ticket ${epoch} at ${priority}`)
      },
    },
  })
  const { inbox } = createStreamInbox(1, () => {})
  return { requeue, inbox, log, raised }
}

test('a generation that a stopping worker declined is queued again as it is', async () => {
  const { requeue, inbox, log } = setUp()
  await requeue(generationJob(), { inbox, holdReplaced: false })
  expect(log).toEqual(['raise 1 same job', 'ticket 2 at 1'])
  expect(inbox.epoch()).toBe(2)
})

test('a replaced hold gets into the record', async () => {
  const { requeue, inbox, log, raised } = setUp()
  const job = generationJob()
  await requeue({ ...job, hold: { ...job.hold, amountNano: '42' } }, { inbox, holdReplaced: true })
  expect(raised[0]?.hold.amountNano).toBe('42')
  expect(log).toEqual(['raise 1 new hold', 'ticket 2 at 1'])
})

test('a generation that is declined again and again ends with an error', async () => {
  const { requeue, inbox, log } = setUp()
  inbox.expectEpoch(8)
  await expect(requeue(generationJob(), { inbox, holdReplaced: false })).rejects.toMatchObject({
    code: 'upstream_error',
  })
  expect(log).toEqual([])
})

test('a generation that has been settled in the meantime is not queued again', async () => {
  const { requeue, inbox, log } = setUp({ raise: { status: 'settled' } })
  await expect(requeue(generationJob(), { inbox, holdReplaced: false })).rejects.toMatchObject({
    code: 'model_unavailable',
  })
  expect(log).toEqual(['raise 1 same job'])
})

import { expect, test } from 'vitest'
import { createDispatch } from '#apps/gateway/generation/dispatch.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { createStreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { Opening, Raise } from '#libs/generation-record/generation-record.ts'
import { generationJob } from '../../../../support/generation-job.ts'

function setUp(given: { opening?: Opening; raise?: Raise; queueFails?: boolean } = {}) {
  const log: string[] = []
  const raised: GenerationJob[] = []
  const hold = { ...generationJob().hold, amountNano: '42' }
  const dispatch = createDispatch({
    record: {
      async open(_job, tag) {
        log.push(`open ${tag}`)
        return given.opening ?? { status: 'opened' }
      },
      async raise(job, { epoch, keepJob }) {
        log.push(`raise ${epoch} ${keepJob ? 'same job' : 'new hold'}`)
        raised.push(job)
        return given.raise ?? { status: 'raised', epoch: epoch + 1 }
      },
    },
    tickets: {
      async add(_model, { epoch }, priority) {
        log.push(`ticket ${epoch} at ${priority}`)
        if (given.queueFails === true) throw new Error('Command timed out')
      },
      close: async () => {},
    },
    reserve: { first: async () => hold, exact: async () => hold },
  })
  const { inbox } = createStreamInbox(1, () => {})
  return { dispatch, inbox, log, raised }
}

const stopping = { type: 'generation-declined', reason: 'worker-stopping', promptTokens: 0 } as const
const tooSmall = { type: 'generation-declined', reason: 'hold-too-small', promptTokens: 99 } as const

test('the record is there before the ticket, which has the fair tag', async () => {
  const { dispatch, log } = setUp()
  await dispatch.enqueue(generationJob(), { tag: 17, epoch: 1 })
  expect(log).toEqual(['open 17', 'ticket 1 at 17'])
})

test('what is claimed or settled gets no other ticket', async () => {
  for (const opening of [{ status: 'claimed', worker: 'worker-1' }, { status: 'settled' }] as const) {
    const { dispatch, log } = setUp({ opening })
    expect(await dispatch.enqueue(generationJob(), { tag: 17, epoch: 1 })).toEqual(opening)
    expect(log).toEqual(['open 17'])
  }
})

test('a later epoch goes before every fair tag', async () => {
  const { dispatch, log } = setUp()
  await dispatch.enqueue(generationJob(), { tag: 17, epoch: 2 })
  expect(log).toEqual(['open 17', 'ticket 2 at 1'])
})

test('a queue that does not answer is 503', async () => {
  const { dispatch } = setUp({ queueFails: true })
  await expect(dispatch.enqueue(generationJob(), { tag: 2, epoch: 1 })).rejects.toMatchObject({
    code: 'model_unavailable',
  })
})

test('what a stopping worker declined is queued again as it is', async () => {
  const { dispatch, inbox, log } = setUp()
  const job = generationJob()
  expect(await dispatch.requeue(job, stopping, inbox)).toEqual(job)
  expect(log).toEqual(['raise 1 same job', 'ticket 2 at 1'])
  expect(inbox.epoch()).toBe(2)
})

test('a hold that was too small is replaced before it is queued again', async () => {
  const { dispatch, inbox, log, raised } = setUp()
  const next = await dispatch.requeue(generationJob(), tooSmall, inbox)
  expect(next.hold.amountNano).toBe('42')
  expect(raised[0]?.hold.amountNano).toBe('42')
  expect(log).toEqual(['raise 1 new hold', 'ticket 2 at 1'])
})

test('one that is declined again and again ends with an error', async () => {
  const { dispatch, inbox } = setUp()
  inbox.expectEpoch(8)
  await expect(dispatch.requeue(generationJob(), stopping, inbox)).rejects.toMatchObject({
    code: 'upstream_error',
  })
})

test('one that was settled meanwhile is not queued again', async () => {
  const { dispatch, inbox, log } = setUp({ raise: { status: 'settled' } })
  await expect(dispatch.requeue(generationJob(), stopping, inbox)).rejects.toMatchObject({
    code: 'model_unavailable',
  })
  expect(log).toEqual(['raise 1 same job'])
})

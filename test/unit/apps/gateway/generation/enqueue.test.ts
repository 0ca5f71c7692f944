import { expect, test } from 'vitest'
import { createEnqueue } from '#apps/gateway/generation/enqueue.ts'
import type { Opening } from '#libs/generation-record/generation-record.ts'
import { generationJob } from '../../../../support/generation-job.ts'

function setUp(given: { opening?: Opening; queueFails?: boolean } = {}) {
  const log: string[] = []
  const enqueue = createEnqueue({
    record: {
      async open(_job, tag) {
        log.push(`open ${tag}`)
        return given.opening ?? { status: 'opened' }
      },
    },
    tickets: {
      async add(_model, { epoch }, priority) {
        log.push(`ticket ${epoch} at ${priority}`)
        if (given.queueFails === true) throw new Error('Command timed out')
      },
    },
  })
  return { enqueue, log }
}

test('the record is opened before the ticket is added, under the fair tag', async () => {
  const { enqueue, log } = setUp()
  await enqueue(generationJob(), { tag: 17, epoch: 1 })
  expect(log).toEqual(['open 17', 'ticket 1 at 17'])
})

test('a claimed or settled generation gets no other ticket', async () => {
  for (const opening of [{ status: 'claimed', worker: 'worker-1' }, { status: 'settled' }] as const) {
    const { enqueue, log } = setUp({ opening })
    expect(await enqueue(generationJob(), { tag: 17, epoch: 1 })).toEqual(opening)
    expect(log).toEqual(['open 17'])
  }
})

test('a later epoch goes before every fair tag', async () => {
  const { enqueue, log } = setUp()
  await enqueue(generationJob(), { tag: 17, epoch: 2 })
  expect(log).toEqual(['open 17', 'ticket 2 at 1'])
})

test('a queue that does not answer is 503', async () => {
  const { enqueue } = setUp({ queueFails: true })
  await expect(enqueue(generationJob(), { tag: 2, epoch: 1 })).rejects.toMatchObject({
    code: 'model_unavailable',
  })
})

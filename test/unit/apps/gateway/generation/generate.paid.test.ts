import { expect, test } from 'vitest'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { LossReason, StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import { claimed, collect, declined, setUp, text } from './generate-under-test.ts'

test.each([
  [
    'the prompt that its worker reports',
    declined({ promptTokens: 3 }),
    { outcome: 'cancelled', promptTokens: 3 },
  ],
  ['the prompt of a claim that was under way', claimed(), { outcome: 'cancelled', promptTokens: 3 }],
  ['nothing if its engine had nothing', declined(), { outcome: 'never-ran', promptTokens: 0 }],
  [
    'nothing if the estimate was too small, because then its engine had nothing',
    declined({ reason: 'hold-too-small', promptTokens: 9 }),
    { outcome: 'never-ran', promptTokens: 0 },
  ],
])('a caller who leaves before any event pays for %s', async (_, report, settlement) => {
  const hangUp = new AbortController()
  const { events, settled, log } = setUp({
    call: { signal: hangUp.signal },
    claimant: 'worker-1',
    epochs: [() => hangUp.abort()],
    report: (send) => send([report]),
  })
  await collect(events)
  expect(settled).toMatchObject([settlement])
  expect(log.filter((entry) => /^ask|^again/u.test(entry))).toEqual(['ask worker-1 1'])
})

test('a failure under a grammar that the caller wrote is charged for what was used', async () => {
  const message = 'The grammar allows no token.'
  const { events, settled } = setUp({
    epochs: [
      (send) =>
        send([claimed(), { type: 'generation-error', code: 'invalid_request', message, isCharged: true }]),
    ],
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'invalid_request', message })
  expect(settled).toMatchObject([{ outcome: 'cancelled', promptTokens: 3, completionTokens: 0 }])
})

test('a failure of the service has no usage, one of unknown cause has it, a refusal only with output', async () => {
  const failWith = async (fail: NonNullable<Parameters<typeof setUp>[0]['epochs']>[number]) => {
    const { events, settled } = setUp({ epochs: [fail] })
    await expect(events(() => {})).rejects.toMatchObject({ name: 'ApiError' })
    return settled.map(({ outcome, promptTokens, completionTokens }) => [
      outcome,
      promptTokens,
      completionTokens,
    ])
  }
  const output = [text('Hello'), [1]] as const
  const error = (code: 'invalid_request' | 'upstream_error') =>
    ({ type: 'generation-error', code, message: 'No.' }) as const
  const lose = (reason: LossReason) => (send: (events: [GenerationEvent]) => void, inbox: StreamInbox) => {
    send([claimed()])
    inbox.lose(reason)
  }
  expect(await failWith(lose('gateway-stopping'))).toEqual([['fault', 0, 0]])
  expect(await failWith(lose('unreadable'))).toEqual([['fault', 3, 0]])
  expect(await failWith((send) => send([claimed(), error('invalid_request')]))).toEqual([['fault', 0, 0]])
  expect(await failWith((send) => send([claimed(), output, error('invalid_request')]))).toEqual([
    ['fault', 3, 1],
  ])
  expect(await failWith((send) => send([claimed(), error('upstream_error')]))).toEqual([['fault', 3, 0]])
})

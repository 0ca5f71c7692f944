import { expect, test } from 'vitest'
import { createEndAllStreams } from '#apps/gateway/generation/settle/end-all-streams.ts'
import { createEventReceiver } from '#libs/event-bus/receive-events.ts'

const control = {
  stop: async () => true,
  resend: async () => true,
  ask: async () => true,
  acknowledge: async () => true,
}

function setUp() {
  const bus = { awayMs: 0 }
  const { open, loseAll } = createEventReceiver({ control, onLate: () => {} })
  return { bus, open, ...createEndAllStreams({ busAwayMs: () => bus.awayMs, loseAll }) }
}

test('streams are given up once for each outage of more than 15 s', async () => {
  const { bus, open, tick } = setUp()
  const endsAfter = async (awayMs: number) => {
    const inbox = open()
    let isOver = false
    void inbox.untilOver().then(() => (isOver = true))
    bus.awayMs = awayMs
    tick()
    await Promise.resolve()
    await Promise.resolve()
    return isOver
  }
  const ends = []
  for (const awayMs of [0, 4_000, 15_000, 15_001, 20_000, 0, 3_500, 0, 16_000]) {
    ends.push(await endsAfter(awayMs))
  }
  expect(ends).toEqual([false, false, false, true, false, false, false, false, true])
})

test('when the gateway stops, a stream that is between two workers ends as soon as it waits for the next one', async () => {
  const { open, tick, stop } = setUp()
  const inbox = open()
  inbox.lose('worker-dead')
  stop()
  inbox.raise({ restart: false })
  const opened = open()
  const ended = Promise.all([inbox.untilOver(), opened.untilOver()])
  tick()
  await ended
  const reader = opened[Symbol.asyncIterator]()
  expect(await reader.next()).toEqual({
    value: [{ type: 'stream-lost', reason: 'gateway-stopping' }],
    done: false,
  })
})

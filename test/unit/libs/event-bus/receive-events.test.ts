import { expect, onTestFinished, test, vi } from 'vitest'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { StreamState } from '#libs/event-bus/frame.ts'
import type { InboxEvent, StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import { claimed, ended, GATEWAY, lost, read, text } from './publishing-worker.ts'
import { createGateway } from './receiving-gateway.ts'

test('events of closed streams, of old epochs and of other workers are counted, and stop their sender', async () => {
  const { receiver, worker, other, deliver, ticks, sentByNow, late } = createGateway()
  const [closed, raised, taken] = [receiver.open(), receiver.open(), receiver.open()]
  closed.close()
  raised.raise({ restart: false })
  worker.send(taken.stream, claimed('worker-1'))
  deliver()
  for (const { stream } of [closed, raised]) {
    worker.send(stream, claimed('worker-1'))
    worker.send(stream, text('a'))
  }
  other.send(taken.stream, claimed('worker-2'))
  deliver()
  deliver()
  expect(late()).toBe(5)
  expect(await sentByNow()).toEqual([
    ['stop', 'worker-1', [closed, raised].map(({ stream }) => ({ stream, epoch: 1 }))],
    ['stop', 'worker-2', [{ stream: taken.stream, epoch: 1 }]],
  ])
  // The stop is repeated once a second, not at each frame.
  worker.send(closed.stream, text('b'))
  deliver()
  expect(await sentByNow()).toEqual([])
  ticks(1)
  await sentByNow()
  worker.send(closed.stream, text('c'))
  deliver()
  expect(await sentByNow()).toEqual([['stop', 'worker-1', [{ stream: closed.stream, epoch: 1 }]]])
})

test('a pulse of a running stream that is not run for us is answered, an ended one is not', async () => {
  const { worker, deliver, sentByNow } = createGateway()
  worker.publisher.pulse(GATEWAY, [
    { stream: 77, epoch: 2, lastSeq: 5, state: 'running' },
    { stream: 78, epoch: 1, lastSeq: 5, state: 'ended' },
    { stream: 79, epoch: 1, lastSeq: 5, state: 'unknown' },
    { stream: 80, epoch: 1, lastSeq: 0, state: 'claiming' },
  ])
  deliver()
  const streams = [
    { stream: 77, epoch: 2 },
    { stream: 80, epoch: 1 },
  ]
  expect(await sentByNow()).toEqual([['stop', 'worker-1', streams]])
})

test('a heard stream that its worker does not know, or ended without a word, is not running', async () => {
  const { receiver, worker, other, deliver } = createGateway()
  const [unknown, stopped, well] = [receiver.open(), receiver.open(), receiver.open()]
  for (const { stream } of [unknown, stopped, well]) worker.send(stream, claimed('worker-1'))
  deliver()
  worker.publisher.pulse(GATEWAY, [
    { stream: unknown.stream, epoch: 1, lastSeq: 0, state: 'unknown' },
    { stream: stopped.stream, epoch: 1, lastSeq: 1, state: 'ended' },
    { stream: well.stream, epoch: 1, lastSeq: 1, state: 'running' },
  ])
  other.publisher.pulse(GATEWAY, [{ stream: well.stream, epoch: 1, lastSeq: 0, state: 'unknown' }])
  deliver()
  for (const inbox of [unknown, stopped]) {
    expect(await read(inbox)).toEqual([claimed('worker-1'), lost('not-running')])
  }
  expect(await read(well)).toEqual([claimed('worker-1')])
})

test('an expected worker is asked each second until it was heard; its second denial loses the epoch', async () => {
  const { receiver, worker, deliver, ticks, sentByNow } = createGateway()
  const [inbox, later] = [receiver.open(), receiver.open()]
  inbox.expect({ worker: 'worker-1', nonce: 'n1' })
  later.expect({ worker: 'worker-1', nonce: 'n2' })
  ticks(1)
  const question = (of: StreamInbox, nonce: string) => ({ stream: of.stream, epoch: 1, nonce })
  expect(await sentByNow()).toEqual([['ask', 'worker-1', [question(inbox, 'n1'), question(later, 'n2')]]])
  const answer = (state: StreamState['state']) => {
    worker.publisher.pulse(GATEWAY, [{ stream: inbox.stream, epoch: 1, lastSeq: 0, state }])
    deliver()
  }
  worker.send(later.stream, claimed('worker-1'))
  answer('unknown')
  answer('claiming')
  answer('unknown')
  await sentByNow()
  ticks(1)
  expect(await sentByNow()).toEqual([['ask', 'worker-1', [question(inbox, 'n1')]]])
  answer('unknown')
  expect(await read(inbox)).toEqual([lost('not-running')])
  expect(await read(later)).toEqual([claimed('worker-1')])
})

test('a running stream of which its worker says nothing for three seconds is asked about', async () => {
  const { receiver, worker, deliver, ticks, sentByNow } = createGateway()
  const [quiet, listed, done] = [receiver.open(), receiver.open(), receiver.open()]
  for (const { stream } of [quiet, listed, done]) worker.send(stream, claimed('worker-1'))
  worker.send(done.stream, ended)
  deliver()
  const pulse = () => {
    worker.publisher.pulse(GATEWAY, [{ stream: listed.stream, epoch: 1, lastSeq: 1, state: 'running' }])
    deliver()
  }
  ticks(2)
  pulse()
  expect(await sentByNow()).toEqual([])
  ticks(1)
  expect(await sentByNow()).toEqual([['ask', 'worker-1', [{ stream: quiet.stream, epoch: 1, nonce: '' }]]])
})

test('after a cut every worker is asked for what it published since, and about unheard streams', async () => {
  const { receiver, worker, other, deliver, resend, sentByNow } = createGateway()
  const [a, b, expected] = [receiver.open(), receiver.open(), receiver.open()]
  worker.send(a.stream, claimed('worker-1'))
  worker.send(a.stream, text('a'))
  other.send(b.stream, claimed('worker-2'))
  deliver()
  expected.expect({ worker: 'worker-2', nonce: 'n' })
  receiver.catchUp()
  expect(await sentByNow()).toEqual([
    ['resend', 'worker-1', 2],
    ['resend', 'worker-2', 2],
    ['ask', 'worker-2', [{ stream: expected.stream, epoch: 1, nonce: 'n' }]],
  ])
  expect(resend(2)).toBe(0)
})

test('a dead worker loses what it runs and what it is expected to run, and nothing else', async () => {
  const { receiver, worker, other, deliver } = createGateway()
  const [runs, expected, raised, elsewhere, done] = Array.from({ length: 5 }, () => receiver.open())
  if (!runs || !expected || !raised || !elsewhere || !done) throw new Error('five were opened')
  for (const { stream } of [runs, raised, done]) worker.send(stream, claimed('worker-1'))
  worker.send(done.stream, ended)
  other.send(elsewhere.stream, claimed('worker-2'))
  deliver()
  expected.expect({ worker: 'worker-1', nonce: 'n' })
  raised.raise({ restart: false })
  receiver.loseWorker('worker-1', 'worker-dead')
  expect(await read(runs)).toEqual([claimed('worker-1'), lost('worker-dead')])
  expect(await read(expected)).toEqual([lost('worker-dead')])
  expect(await read(raised)).toEqual([claimed('worker-1')])
  expect(await read(elsewhere)).toEqual([claimed('worker-2')])
  expect(await read(done)).toEqual([claimed('worker-1'), ended])
  expect(receiver.openStreams()).toBe(0)
})

test('a bus that is away loses every stream that has not ended', async () => {
  const { receiver, worker, deliver } = createGateway()
  const [waiting, runs, done] = [receiver.open(), receiver.open(), receiver.open()]
  for (const { stream } of [runs, done]) worker.send(stream, claimed('worker-1'))
  worker.send(done.stream, ended)
  deliver()
  receiver.loseAll('bus-away')
  expect(await read(waiting)).toEqual([lost('bus-away')])
  expect(await read(runs)).toEqual([claimed('worker-1'), lost('bus-away')])
  expect(await read(done)).toEqual([claimed('worker-1'), ended])
})

test('while the event loop is late, tokens of up to 25 ms come together; the first ones and the end at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { receiver, worker, deliver, loop } = createGateway()
  const inbox = receiver.open()
  const batches: InboxEvent['type'][][] = []
  void (async () => {
    for await (const batch of inbox) batches.push(batch.map(({ type }) => type))
  })()
  const send = async (event: GenerationEvent) => {
    worker.send(inbox.stream, event)
    deliver()
    await vi.advanceTimersByTimeAsync(0)
  }
  loop.isLate = true
  for (const event of [claimed('worker-1'), text('a'), text('b'), text('c')]) await send(event)
  expect(batches).toEqual([['generation-claimed'], ['text-delta'], ['text-delta'], ['text-delta']])
  batches.length = 0
  await send(text('d'))
  await vi.advanceTimersByTimeAsync(20)
  await send(text('e'))
  expect(batches).toEqual([])
  await vi.advanceTimersByTimeAsync(5)
  expect(batches).toEqual([['text-delta', 'text-delta']])
  await send(text('f'))
  await send(ended)
  expect(batches.slice(1)).toEqual([['text-delta', 'generation-end']])
  await vi.advanceTimersByTimeAsync(25)
  expect(batches).toHaveLength(2)
})

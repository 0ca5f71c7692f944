import { expect, test } from 'vitest'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { createStreamInbox, StreamLostError } from '#libs/event-bus/stream-inbox.ts'

const text = (content: string): GenerationEvent => ({ type: 'text-delta', text: content })

function open() {
  let closings = 0
  const { inbox, feed } = createStreamInbox(1, () => (closings += 1))
  const events = inbox[Symbol.asyncIterator]()
  const send = (seq: number, event: GenerationEvent, epoch = 1) => {
    const fresh = feed.accept({ stream: 1, epoch, seq, event, ids: [] })
    feed.deliver()
    return fresh
  }
  return { inbox, feed, events, send, closings: () => closings }
}

test('events of one message come out as one batch, in order', async () => {
  const { feed, events } = open()
  const first = events.next()
  feed.accept({ stream: 1, epoch: 1, seq: 1, event: text('a'), ids: [] })
  feed.accept({ stream: 1, epoch: 1, seq: 2, event: text('b'), ids: [] })
  feed.deliver()
  expect(await first).toEqual({ value: [text('a'), text('b')], done: false })
})

test('events that arrive while the consumer is busy wait as one batch', async () => {
  const { events, send } = open()
  send(1, text('a'))
  send(2, text('b'))
  expect(await events.next()).toEqual({ value: [text('a'), text('b')], done: false })
})

test('a batch that was handed over does not grow afterwards', async () => {
  const { events, send } = open()
  const taken = events.next()
  send(1, text('a'))
  send(2, text('b'))
  expect(await taken).toEqual({ value: [text('a')], done: false })
  expect(await events.next()).toEqual({ value: [text('b')], done: false })
})

test('a repeated event is dropped', async () => {
  const { events, send } = open()
  send(1, text('a'))
  send(1, text('a'))
  send(2, text('b'))
  expect(await events.next()).toEqual({ value: [text('a'), text('b')], done: false })
})

test('a gap loses the stream, after what came before it', async () => {
  const { events, send } = open()
  send(1, text('a'))
  send(3, text('c'))
  send(4, text('d'))
  expect(await events.next()).toEqual({ value: [text('a')], done: false })
  await expect(events.next()).rejects.toThrow(StreamLostError)
})

test('a worker that is further than the events that arrived loses the stream', async () => {
  const { feed, events, send } = open()
  send(1, text('a'))
  feed.compare(1)
  await events.next()
  const next = events.next()
  feed.compare(2)
  await expect(next).rejects.toThrow(StreamLostError)
})

test('events of an earlier epoch are refused, so that their sender is stopped', async () => {
  const { inbox, events, send } = open()
  expect(send(1, { type: 'generation-claimed', worker: 'worker-1', promptTokens: 1 })).toBe(true)
  expect(inbox.worker()).toBe('worker-1')
  inbox.expectEpoch(2)
  expect(inbox.worker()).toBeNull()
  expect(send(2, text('old'), 1)).toBe(false)
  expect(send(1, text('new'), 2)).toBe(true)
  const { value } = await events.next()
  expect(value).toEqual([{ type: 'generation-claimed', worker: 'worker-1', promptTokens: 1 }, text('new')])
})

test('closing ends the iteration, once', async () => {
  const { inbox, events, closings } = open()
  const next = events.next()
  inbox.close()
  inbox.close()
  expect(await next).toEqual({ value: undefined, done: true })
  expect(closings()).toBe(1)
})

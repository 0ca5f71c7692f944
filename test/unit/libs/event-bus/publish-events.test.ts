import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { decodeGatewayMessage } from '#libs/event-bus/frame.ts'
import { createEventPublisher } from '#libs/event-bus/publish-events.ts'
import { text } from './publishing-worker.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Sets up a publisher, the set of late gateways, and the list of the messages that are published to gateways. */
function setUp() {
  const late = new Set<string>()
  const texts: string[] = []
  const channels: string[] = []
  const publisher = createEventPublisher({
    redis: {
      publish(channel, message) {
        texts.push(message)
        channels.push(channel)
        return Promise.resolve(1)
      },
    },
    worker: 'worker-1',
    isLate: (gateway) => late.has(gateway),
    onNoSubscriber: () => {},
    onPublish: () => {},
    nowMs: () => 0,
    log: pino({ level: 'silent' }),
  })
  let seq = 0
  const send = (gateway: string, content: string, urgent = false) => {
    seq += 1
    publisher.send(gateway, [{ stream: 1, epoch: 1, seq, event: text(content), ids: [seq] }], urgent)
  }
  /** Returns the published messages in short form: a frame's number and texts, or a pulse's last number. */
  const published = () =>
    texts.map((message) => {
      const decoded = decodeGatewayMessage(message)
      if (decoded.kind === 'pulse') return ['pulse', decoded.lastNumber]
      const contents = decoded.entries.map(({ event }) => ('text' in event ? event.text : event.type))
      return [decoded.number, contents.join('')]
    })
  return { publisher, late, send, published, channels }
}

const endTurn = () => vi.advanceTimersByTime(0)

test('the events of one turn are one frame, and those of the next turn another', () => {
  const { send, published } = setUp()
  send('gateway', 'a')
  send('gateway', 'b')
  endTurn()
  send('gateway', 'c')
  endTurn()
  expect(published()).toEqual([
    [1, 'ab'],
    [2, 'c'],
  ])
})

test('to a late gateway the events of up to 25 ms are one frame; to the others nothing changes', () => {
  const { late, send, published, channels } = setUp()
  late.add('late')
  send('late', 'a')
  vi.advanceTimersByTime(20)
  send('late', 'b')
  send('other', 'x')
  endTurn()
  expect(published()).toEqual([[1, 'x']])
  vi.advanceTimersByTime(5)
  send('late', 'c')
  vi.advanceTimersByTime(25)
  expect(published()).toEqual([
    [1, 'x'],
    [1, 'ab'],
    [2, 'c'],
  ])
  expect(new Set(channels).size).toBe(2)
})

test('urgent events do not wait with the others of a late gateway, and are numbered in the order of publishing', () => {
  const { late, send, published } = setUp()
  late.add('gateway')
  send('gateway', 'merged')
  send('gateway', 'urgent', true)
  endTurn()
  expect(published()).toEqual([[1, 'urgent']])
  vi.advanceTimersByTime(25)
  expect(published()).toEqual([
    [1, 'urgent'],
    [2, 'merged'],
  ])
})

test('what was being merged comes before what follows once the gateway is on time again', () => {
  const { late, send, published } = setUp()
  late.add('gateway')
  send('gateway', 'first', true)
  send('gateway', 'a')
  late.delete('gateway')
  send('gateway', 'b')
  endTurn()
  vi.advanceTimersByTime(25)
  expect(published().map(([, contents]) => contents)).toEqual(['first', 'a', 'b'])
})

test('events of the turn in which the gateway became late come before those that are merged', () => {
  const { late, send, published } = setUp()
  send('gateway', 'a')
  late.add('gateway')
  send('gateway', 'b')
  vi.advanceTimersByTime(25)
  expect(published()).toEqual([
    [1, 'a'],
    [2, 'b'],
  ])
})

test('a frame for a late gateway is split at 256 kB', () => {
  const { late, send, published } = setUp()
  late.add('gateway')
  const contents = ['a', 'b', 'c'].map((letter) => letter.repeat(100_000))
  for (const content of contents) send('gateway', content)
  // A text's size is estimated as twice its length, so each text becomes a frame of its own.
  expect(published()).toEqual([
    [1, contents[0]],
    [2, contents[1]],
  ])
  vi.advanceTimersByTime(25)
  expect(published().slice(2)).toEqual([[3, contents[2]]])
})

test('a pulse, a resend and a flush publish what is being merged first', async () => {
  const { publisher, late, send, published } = setUp()
  late.add('gateway')
  send('gateway', 'a')
  publisher.pulse('gateway', [])
  send('gateway', 'b')
  expect(publisher.resend('gateway', 2)).toBe(1)
  send('gateway', 'c')
  await publisher.flush()
  const all = [
    [1, 'a'],
    ['pulse', 1],
    [2, 'b'],
    [2, 'b'],
    [3, 'c'],
  ]
  expect(published()).toEqual(all)
  vi.advanceTimersByTime(100)
  expect(published()).toEqual(all)
})

test('what is being merged for a gateway that is dead is dropped', () => {
  const { publisher, late, send, published } = setUp()
  late.add('gateway')
  send('gateway', 'a')
  publisher.forget('gateway')
  vi.advanceTimersByTime(100)
  expect(published()).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

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

/** Sets up a publisher, and the list of the messages that are published to gateways. */
function setUp() {
  const texts: string[] = []
  const publisher = createEventPublisher({
    redis: {
      publish(_channel, message) {
        texts.push(message)
        return Promise.resolve(1)
      },
    },
    worker: 'worker-1',
    onNoSubscriber: () => {},
    onPublish: () => {},
    nowMs: () => 0,
    log: pino({ level: 'silent' }),
  })
  let seq = 0
  const send = (gateway: string, content: string) => {
    seq += 1
    publisher.send(gateway, [{ stream: 1, epoch: 1, seq, event: text(content), ids: [seq] }])
  }
  /** Returns the published messages in short form: a frame's number and texts, or a pulse's last number. */
  const published = () =>
    texts.map((message) => {
      const decoded = decodeGatewayMessage(message)
      if (decoded.kind === 'pulse') return ['pulse', decoded.lastNumber]
      const contents = decoded.entries.map(({ event }) => ('text' in event ? event.text : event.type))
      return [decoded.number, contents.join('')]
    })
  return { publisher, send, published }
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

test('a frame is split at 256 kB', () => {
  const { send, published } = setUp()
  const contents = ['a', 'b', 'c'].map((letter) => letter.repeat(100_000))
  for (const content of contents) send('gateway', content)
  // A text's size is estimated as twice its length, so each text becomes a frame of its own.
  expect(published()).toEqual([
    [1, contents[0]],
    [2, contents[1]],
  ])
  endTurn()
  expect(published().slice(2)).toEqual([[3, contents[2]]])
})

test('a pulse, a resend and a flush publish what is queued first', async () => {
  const { publisher, send, published } = setUp()
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

test('what is queued for a gateway that is dead is dropped', () => {
  const { publisher, send, published } = setUp()
  send('gateway', 'a')
  publisher.forget('gateway')
  vi.advanceTimersByTime(100)
  expect(published()).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

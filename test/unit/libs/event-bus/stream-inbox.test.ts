import { expect, test } from 'vitest'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { Unreadable } from '#libs/event-bus/event-codecs.ts'
import { createStreamInbox } from '#libs/event-bus/stream-inbox.ts'

const text = (content: string): GenerationEvent => ({ type: 'text-delta', text: content })
const claimed = (after = 0, worker = 'worker-1'): GenerationEvent => ({
  type: 'generation-claimed',
  worker,
  promptTokens: 1,
  after,
  guided: false,
})
const declined: GenerationEvent = {
  type: 'generation-declined',
  reason: 'worker-stopping',
  promptTokens: 0,
  requirement: '',
  blame: 'none',
}
const ended: GenerationEvent = {
  type: 'generation-end',
  finishReason: 'stop',
  usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 },
}
const lost = (reason: string) => ({ type: 'stream-lost', reason })

function open() {
  let closings = 0
  const stopped: [string, number][] = []
  const { inbox, feed } = createStreamInbox(
    1,
    () => (closings += 1),
    (worker, epoch) => stopped.push([worker, epoch]),
  )
  const events = inbox[Symbol.asyncIterator]()
  type Sent = { epoch?: number; worker?: string; ids?: readonly number[] }
  const accept = (seq: number, event: GenerationEvent | Unreadable, sent: Sent = {}) =>
    feed.accept(
      { stream: 1, epoch: sent.epoch ?? 1, seq, event, ids: sent.ids ?? [] },
      sent.worker ?? 'worker-1',
    )
  const send = (...entry: Parameters<typeof accept>) => {
    const acceptance = accept(...entry)
    feed.deliver()
    return acceptance
  }
  const read = async (): Promise<unknown> => (await events.next()).value
  return { inbox, feed, events, accept, send, read, stopped, closings: () => closings }
}

test('messages of one turn, as one read of the bus brings them, come out as one batch', async () => {
  const { send, read } = open()
  const first = read()
  send(1, claimed())
  send(2, text('b'))
  expect(await first).toEqual([claimed(), text('b')])
})

test('events of one message come out as one batch, in order', async () => {
  const { feed, accept, read } = open()
  const first = read()
  accept(1, claimed())
  accept(2, text('b'))
  feed.deliver()
  expect(await first).toEqual([claimed(), text('b')])
})

test('events that arrive while the consumer is busy wait as one batch, which does not grow once it is read', async () => {
  const { send, read } = open()
  send(1, claimed())
  send(2, text('a'))
  const batch = await read()
  send(3, text('b'))
  expect(batch).toEqual([claimed(), text('a')])
  expect(await read()).toEqual([text('b')])
})

test('repeated events are dropped, and events behind a gap are refused until it is filled', async () => {
  const { send, read, feed } = open()
  expect(send(2, text('a'))).toBe('gap')
  expect(send(1, claimed())).toBe('accepted')
  expect(send(1, claimed())).toBe('repeated')
  expect(send(3, text('b'), { ids: [2] })).toBe('gap')
  expect(send(2, text('a'), { ids: [1] })).toBe('accepted')
  expect(send(3, text('b'), { ids: [2] })).toBe('accepted')
  expect(await read()).toEqual([claimed(), text('a'), text('b')])
  expect(feed.lastSeq()).toBe(3)
})

test('the ids of all accepted events are kept over the epochs', () => {
  const { send, inbox } = open()
  send(1, claimed())
  send(2, text('a'), { ids: [5, 6] })
  send(2, text('a'), { ids: [5, 6] })
  const before = inbox.ids()
  for (let seq = 3; seq <= 1_002; seq += 1) send(seq, text('a'), { ids: [seq] })
  expect([...before]).toEqual([5, 6])
  expect(inbox.raise({ restart: false })).toBe(2)
  expect(inbox.ids()).toHaveLength(1_002)
  expect(send(1, claimed(1_002), { epoch: 2 })).toBe('accepted')
  send(2, text('b'), { epoch: 2, ids: [4_294_967_295] })
  expect(inbox.ids().at(-1)).toBe(4_294_967_295)
})

test('in an epoch only the first worker that was heard counts', async () => {
  const { send, read, inbox } = open()
  expect(inbox.worker()).toBeNull()
  send(1, claimed())
  expect(send(2, text('other'), { worker: 'worker-2' })).toBe('stray')
  expect(send(1, claimed(0, 'worker-2'), { worker: 'worker-2' })).toBe('stray')
  send(2, text('a'))
  expect(inbox.worker()).toBe('worker-1')
  expect(await read()).toEqual([claimed(), text('a')])
})

test('the fence is raised first: late events of the old epoch are strays, what was accepted stays readable', async () => {
  const { send, read, inbox, stopped } = open()
  send(1, claimed())
  send(2, text('a'), { ids: [1] })
  expect(inbox.raise({ restart: false })).toBe(2)
  expect([...inbox.ids()]).toEqual([1])
  expect(stopped).toEqual([['worker-1', 1]])
  expect(send(3, text('late'), { ids: [2] })).toBe('stray')
  expect([...inbox.ids()]).toEqual([1])
  expect(inbox.worker()).toBeNull()
  send(1, claimed(1, 'worker-2'), { epoch: 2, worker: 'worker-2' })
  expect(await read()).toEqual([claimed(), text('a'), claimed(1, 'worker-2')])
})

test('a restart drops the ids, and the events that were accepted can be read', async () => {
  const { send, read, inbox } = open()
  send(1, claimed())
  send(2, text('a'), { ids: [1] })
  const before = inbox.ids()
  inbox.raise({ restart: true })
  expect(inbox.ids()).toHaveLength(0)
  send(1, claimed(), { epoch: 2 })
  send(2, text('b'), { epoch: 2, ids: [9] })
  expect([...before]).toEqual([1])
  expect(await read()).toEqual([claimed(), text('a'), claimed(), text('b')])
})

test('a worker that continues after another number of ids is stopped, and the epoch is lost', async () => {
  const { send, read, inbox, stopped } = open()
  send(1, claimed())
  send(2, text('a'), { ids: [1, 2] })
  inbox.raise({ restart: false })
  send(1, claimed(1, 'worker-2'), { epoch: 2, worker: 'worker-2' })
  expect(await read()).toEqual([claimed(), text('a'), lost('misfit')])
  expect(stopped).toEqual([
    ['worker-1', 1],
    ['worker-2', 2],
  ])
  expect(send(2, text('b'), { epoch: 2, worker: 'worker-2' })).toBe('stray')
})

test('an epoch starts with a claim, a refusal or an error, and with nothing else', async () => {
  const withText = open()
  withText.send(1, text('a'), { ids: [1] })
  expect(await withText.read()).toEqual([lost('misfit')])
  expect(withText.inbox.ids()).toHaveLength(0)
  const error: GenerationEvent = { type: 'generation-error', code: 'upstream_error', message: 'It failed.' }
  for (const event of [declined, error]) {
    const { send, read, feed } = open()
    send(1, event)
    expect(await read()).toEqual([event])
    expect(feed.state()).toBe('ended')
  }
})

test('an event of another release loses its stream after what came before it', async () => {
  const { send, read, stopped } = open()
  send(1, claimed())
  send(2, { type: 'unreadable', code: 99 }, { ids: [1] })
  expect(await read()).toEqual([claimed(), lost('unreadable')])
  expect(stopped).toEqual([['worker-1', 1]])
})

test('a loss comes once, in order, and the next epoch follows in the same inbox', async () => {
  const { send, read, inbox, stopped } = open()
  send(1, claimed())
  inbox.lose('worker-dead')
  inbox.lose('bus-away')
  expect(await read()).toEqual([claimed(), lost('worker-dead')])
  inbox.raise({ restart: false })
  expect(stopped).toEqual([['worker-1', 1]])
  const next = read()
  send(1, claimed(0, 'worker-2'), { epoch: 2, worker: 'worker-2' })
  expect(await next).toEqual([claimed(0, 'worker-2')])
  inbox.lose('deadline')
  expect(await read()).toEqual([lost('deadline')])
})

test('nothing is lost after the end of the epoch', async () => {
  for (const last of [ended, declined]) {
    const { send, read, inbox, stopped, events } = open()
    send(1, claimed())
    send(2, last)
    inbox.lose('worker-dead')
    expect(await read()).toEqual([claimed(), last])
    inbox.close()
    expect(await events.next()).toEqual({ value: undefined, done: true })
    expect(stopped).toEqual([])
  }
})

test('a worker that is expected counts until something was heard; two denials lose the epoch', async () => {
  const { send, inbox, feed, read, stopped } = open()
  expect(feed.expected()).toBeNull()
  inbox.expect({ worker: 'worker-2', nonce: 'n' })
  expect(feed.expected()).toEqual({ worker: 'worker-2', nonce: 'n' })
  expect(inbox.worker()).toBeNull()
  send(1, claimed())
  expect(feed.expected()).toBeNull()

  inbox.raise({ restart: false })
  expect(feed.expected()).toBeNull()
  inbox.expect({ worker: 'worker-2', nonce: 'n' })
  feed.noteUnknown()
  feed.noteKnown()
  feed.noteUnknown()
  inbox.expect({ worker: 'worker-2', nonce: 'n' })
  expect(feed.state()).toBe('open')
  feed.noteUnknown()
  expect(feed.state()).toBe('lost')
  expect(await read()).toEqual([claimed(), lost('not-running')])
  expect(stopped).toEqual([
    ['worker-1', 1],
    ['worker-2', 2],
  ])
})

test('closing ends the iteration once what was accepted is read', async () => {
  const { send, inbox, events, read, closings } = open()
  send(1, claimed())
  inbox.close()
  inbox.close()
  expect(send(2, text('a'))).toBe('stray')
  expect(await read()).toEqual([claimed()])
  expect(await events.next()).toEqual({ value: undefined, done: true })
  expect(closings()).toBe(1)
})

test('ids are kept by choice, and a restart drops those of the choices that have not ended', () => {
  const { inbox, send } = open()
  const choiceEnd: GenerationEvent = { ...ended, type: 'choice-end' }
  send(1, claimed())
  expect(inbox.choices()).toBeNull()
  send(2, text('a'), { ids: [1] })
  send(3, { type: 'choice', choice: 2 }, { ids: [5, 6] })
  send(4, { type: 'choice', choice: 0 }, { ids: [2] })
  send(5, choiceEnd)
  expect([[...inbox.ids()], inbox.idCount()]).toEqual([[1, 2, 5, 6], 4])
  const first = { count: 2, ended: true }
  expect(inbox.choices()).toEqual([first, { count: 0, ended: false }, { count: 2, ended: false }])
  inbox.raise({ restart: false })
  send(1, claimed(4), { epoch: 2 })
  // An epoch begins with choice 0.
  send(2, { type: 'choice', choice: 1 }, { epoch: 2, ids: [9] })
  expect([...inbox.ids()]).toEqual([1, 2, 9, 5, 6])
  inbox.raise({ restart: true })
  expect([[...inbox.ids()], inbox.choices()?.[0]]).toEqual([[1, 2], first])
  expect(send(1, claimed(2), { epoch: 3 })).toBe('accepted')
})

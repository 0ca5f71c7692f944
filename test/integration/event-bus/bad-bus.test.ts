import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeGatewayMessage } from '#libs/event-bus/frame.ts'
import { createEventReceiver } from '#libs/event-bus/receive-events.ts'
import type { InboxEvent } from '#libs/event-bus/stream-inbox.ts'
import { runs } from '#test/support/long.ts'
import {
  claimed,
  createWorker,
  ended,
  GATEWAY,
  lost,
  text,
  type Worker,
} from '../../unit/libs/event-bus/publishing-worker.ts'

/** Creates a random generator with a seed, so that a failure can be repeated. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * Runs streams of two workers over a bus that loses, repeats and reorders messages in both directions, until all
 * streams have ended. Returns the events that each inbox returned, and the events that were sent.
 */
async function runOverBadBus(options: { seed: number; lossRate: number; keepBytes: number }) {
  const { seed, lossRate, keepBytes } = options
  const random = createRandom(seed)
  const pick = (below: number) => Math.floor(random() * below)
  let under: (() => void)[] = []
  let lostMessages = 0

  function carry(message: () => void) {
    if (random() < lossRate) {
      lostMessages += 1
      return
    }
    under.push(message)
    if (random() < 0.1) under.push(message)
  }
  function deliverSome() {
    // Most messages arrive in order; some overtake others.
    for (let count = pick(under.length + 1); count > 0; count -= 1) {
      const [message] = under.splice(random() < 0.8 ? 0 : pick(under.length), 1)
      message?.()
    }
  }

  const workers = new Map<string, Worker>()
  const toWorker = (worker: string, act: (known: Worker) => void) => {
    const known = workers.get(worker)
    if (known !== undefined) carry(() => act(known))
    return Promise.resolve(true)
  }
  const receiver = createEventReceiver({
    control: {
      stop: () => Promise.resolve(true),
      resend: (worker, from) => toWorker(worker, ({ publisher }) => publisher.resend(GATEWAY, from)),
      ask: (worker) => toWorker(worker, (known) => known.pulse()),
      acknowledge: (worker, number) =>
        toWorker(worker, ({ publisher }) => publisher.acknowledge(GATEWAY, number)),
    },
    onLate: () => {},
  })
  const names = ['worker-1', 'worker-2']
  for (const worker of names) {
    workers.set(
      worker,
      createWorker({
        worker,
        keepBytes,
        publish: (message) => carry(() => receiver.take(decodeGatewayMessage(message))),
      }),
    )
  }

  const runs = Array.from({ length: 6 }, (_, at) => {
    const name = names[at % 2] ?? ''
    const events = [
      claimed(name),
      ...Array.from({ length: pick(30) }, (_each, of) => text(`${at}-${of}`)),
      ended,
    ]
    return { inbox: receiver.open(), worker: workers.get(name), events, sent: 0 }
  })
  const received = runs.map(async ({ inbox }) => {
    const all: InboxEvent[] = []
    for await (const batch of inbox) {
      all.push(...batch)
      if (batch.some(({ type }) => type === 'generation-end' || type === 'stream-lost')) break
    }
    return all
  })

  let rounds = 0
  const isOver = () => runs.every(({ events, sent }) => sent === events.length)
  for (; rounds < 3_000; rounds += 1) {
    const run = runs[pick(runs.length)]
    const event = run?.events[run.sent]
    if (run !== undefined && event !== undefined) {
      run.worker?.send(run.inbox.stream, event, { ids: event.type === 'text-delta' ? [run.sent] : [] })
      run.sent += 1
    }
    if (random() < 0.5) for (const { publisher } of workers.values()) void publisher.flush()
    deliverSome()
    if (random() < 0.1 || isOver()) {
      receiver.tick()
      for (const each of workers.values()) each.pulse()
    }
  }
  under = []
  const outcomes = []
  for (const [at, run] of runs.entries()) {
    run.inbox.close()
    outcomes.push({ sent: run.events, ids: [...run.inbox.ids()], received: (await received[at]) ?? [] })
  }
  const keptBytes = [...workers.values()].reduce((sum, { publisher }) => sum + publisher.keptBytes(), 0)
  return { outcomes, lostMessages, keptBytes }
}

test('messages that are lost, repeated and reordered change nothing of what the consumer reads', async () => {
  let lostMessages = 0
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.constantFrom(0.05, 0.3, 0.6), async (seed, lossRate) => {
      const run = await runOverBadBus({ seed, lossRate, keepBytes: 1_000_000 })
      for (const { sent, ids, received } of run.outcomes) {
        expect(received).toEqual(sent)
        expect(ids).toEqual(Array.from({ length: sent.length - 2 }, (_, at) => at + 1))
      }
      lostMessages += run.lostMessages
    }),
    { numRuns: runs(15, 40) },
  )
  expect(lostMessages).toBeGreaterThan(1_000)
})

test('where too little is kept, a stream is exact up to its loss, and is never left waiting', async () => {
  let losses = 0
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const run = await runOverBadBus({ seed, lossRate: 0.3, keepBytes: 300 })
      for (const { sent, received } of run.outcomes) {
        const isLost = received.at(-1)?.type === 'stream-lost'
        if (isLost) losses += 1
        const exact = isLost ? [...sent.slice(0, received.length - 1), lost('frames-lost')] : sent
        expect(received).toEqual(exact)
      }
    }),
    { numRuns: runs(15, 40) },
  )
  expect(losses).toBeGreaterThan(30)
})

import { expect, test } from 'vitest'
import type { AbandonedGeneration } from '#apps/gateway/generation/abandon.ts'
import { createGenerate } from '#apps/gateway/generation/generate.ts'
import type { GenerationCall, OutputEvent } from '#apps/gateway/generation/generation-call.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { Opening } from '#libs/generation-record/generation-record.ts'
import { createStreamInbox, StreamLostError, type StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import { generationCall } from '../../../../support/generation-call.ts'
import { generationJob } from '../../../../support/generation-job.ts'

const CLAIMED: GenerationEvent = { type: 'generation-claimed', worker: 'worker-1', promptTokens: 3 }
const TEXT: GenerationEvent = { type: 'text-delta', text: 'Hello' }
const END: GenerationEvent = {
  type: 'generation-end',
  finishReason: 'stop',
  usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 },
}
const DECLINED: GenerationEvent = { type: 'generation-declined', reason: 'worker-stopping', promptTokens: 0 }

const VECTOR = Float32Array.of(1, 0)

type Given = {
  /** What a worker sends once the ticket is there. */
  answer?: (send: (...events: GenerationEvent[]) => void, inbox: StreamInbox) => void
  enqueue?: () => Promise<void>
  /** Somebody else deleted what the worker wrote. */
  vectorsGone?: boolean
  requeue?: (job: GenerationJob, inbox: StreamInbox) => Promise<GenerationJob>
  call?: Partial<GenerationCall>
}

function setUp(given: Given) {
  const log: string[] = []
  const abandoned: AbandonedGeneration[] = []
  let open = 0
  let found: Opening = { status: 'opened' }
  let lookAgain: () => Promise<void> = async () => {}
  const { inbox, feed } = createStreamInbox(7, () => (open -= 1))
  let seq = 0
  let sentEpoch = 1
  const send = (...events: GenerationEvent[]) => {
    if (inbox.epoch() !== sentEpoch) {
      sentEpoch = inbox.epoch()
      seq = 0
    }
    for (const event of events) {
      seq += 1
      feed.accept({ stream: 7, epoch: sentEpoch, seq, event, ids: [] })
    }
    feed.deliver()
  }
  const generate = createGenerate({
    admit: async () => {
      log.push('admit')
      return 9
    },
    reserve: {
      async first() {
        log.push('reserve')
        return generationJob().hold
      },
      exact: async () => generationJob().hold,
    },
    dispatch: {
      async enqueue(_job, { tag, epoch }) {
        log.push(`enqueue ${tag} ${epoch}`)
        await given.enqueue?.()
        given.answer?.(send, inbox)
        return found
      },
      async requeue(job, _declined, into) {
        log.push('requeue')
        if (given.requeue === undefined) throw new Error('nothing was declined')
        const next = await given.requeue(job, into)
        send(CLAIMED, TEXT, END)
        return next
      },
    },
    keepQueued: (enqueue) => {
      log.push('keep queued')
      lookAgain = enqueue
      return () => void log.push('stop queueing')
    },
    abandon: {
      cancel(generation) {
        log.push('cancel')
        abandoned.push(generation)
      },
      withdraw(generation) {
        log.push('withdraw')
        abandoned.push(generation)
      },
      writeOff(generation) {
        log.push('write off')
        abandoned.push(generation)
      },
      release: () => {},
      drain: async () => {},
    },
    async receiveVectors({ count }, from) {
      log.push(`take ${count} from ${from.worker()}`)
      if (given.vectorsGone === true) throw new StreamLostError('vectors could not be taken')
      return Array.from({ length: count }, () => VECTOR)
    },
    openInbox: () => {
      open += 1
      return inbox
    },
    watchWorker: (worker) => log.push(`watch ${worker}`),
    unwatchWorker: (worker) => log.push(`unwatch ${worker}`),
    learnInput: (_call, promptTokens) => log.push(`learn ${promptTokens}`),
    gateway: 'gateway-1',
    limitMs: 60_000,
    nowMs: () => Date.now(),
  })
  const call = generationCall(given.call)
  return {
    events: generate(call),
    inbox,
    send,
    log,
    abandoned,
    open: () => open,
    /** What keeps it queued looks again, and finds this. */
    async findLater(opening: Opening) {
      found = opening
      given = { ...given, answer: () => {} }
      await lookAgain()
    },
  }
}

async function collect(events: AsyncIterable<readonly OutputEvent[]>): Promise<OutputEvent[]> {
  const all: OutputEvent[] = []
  for await (const batch of events) all.push(...batch)
  return all
}

test('admit, reserve, enqueue, then the output alone; its end leaves nothing open', async () => {
  const { events, log, open } = setUp({ answer: (send) => send(CLAIMED, TEXT, END) })
  expect(await collect(events)).toEqual([TEXT, END])
  expect(log.slice(0, 4)).toEqual(['admit', 'reserve', 'enqueue 9 1', 'keep queued'])
  expect(log).toEqual(
    expect.arrayContaining(['learn 3', 'watch worker-1', 'unwatch worker-1', 'stop queueing']),
  )
  expect(log).not.toContain('cancel')
  expect(open()).toBe(0)
})

test('vectors are taken as they come, and heard before the end', async () => {
  const heard: (readonly Float32Array[])[] = []
  const { events, log } = setUp({
    call: { onVectors: (vectors) => heard.push(vectors) },
    answer: (send) => {
      send(CLAIMED, { type: 'vectors-ready', first: 0, count: 2 })
      send({ type: 'vectors-ready', first: 2, count: 1 }, END)
    },
  })
  expect(await collect(events)).toEqual([END])
  expect(heard).toEqual([[VECTOR, VECTOR], [VECTOR]])
  expect(log.filter((line) => line.startsWith('take'))).toEqual([
    'take 2 from worker-1',
    'take 1 from worker-1',
  ])
  expect(log).not.toContain('cancel')
})

test('vectors that are gone are our fault: the generation is written off, not cancelled at a charge', async () => {
  const { events, log } = setUp({
    vectorsGone: true,
    answer: (send) => send(CLAIMED, { type: 'vectors-ready', first: 0, count: 2 }),
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'upstream_error' })
  expect(log).toContain('write off')
  expect(log).not.toContain('cancel')
})

test('a worker that reports an error has settled: the error is told, nothing is cancelled', async () => {
  const { events, log } = setUp({
    answer: (send) => send(CLAIMED, { type: 'generation-error', code: 'invalid_request', message: 'No.' }),
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'invalid_request', message: 'No.' })
  expect(log).not.toContain('cancel')
  expect(log).not.toContain('write off')
})

test('a client that hangs up cancels, whether it runs or waits', async () => {
  const hangUp = new AbortController()
  const running = setUp({
    call: { signal: hangUp.signal },
    answer: (send) => {
      send(CLAIMED, TEXT)
      hangUp.abort()
    },
  })
  await collect(running.events)
  expect(running.abandoned).toMatchObject([{ stream: 7, epoch: 1, worker: 'worker-1' }])
  expect(running.log).toContain('cancel')

  const waiting = setUp({ call: { signal: AbortSignal.abort() } })
  expect(await collect(waiting.events)).toEqual([])
  expect(waiting.log).toEqual(['admit', 'reserve', 'cancel'])
  expect(waiting.abandoned).toMatchObject([{ worker: null }])
})

test('a consumer that stops reading cancels', async () => {
  const { events, log, open } = setUp({ answer: (send) => send(CLAIMED, TEXT) })
  for await (const batch of events) {
    expect(batch).toEqual([TEXT])
    break
  }
  expect(log).toContain('cancel')
  expect(open()).toBe(0)
})

test('an enqueueing of unknown outcome is withdrawn, so that it is free whatever becomes of it', async () => {
  const { events, log } = setUp({
    enqueue: async () => {
      throw new ApiError('model_unavailable', 'The service cannot take new work right now.')
    },
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(log).toContain('withdraw')
  expect(log).not.toContain('cancel')
})

test('a worker that the record names counts before its claim has arrived', async () => {
  const { events, inbox, log, findLater } = setUp({})
  const answer = collect(events)
  await expect.poll(() => log).toContain('keep queued')
  await findLater({ status: 'claimed', worker: 'worker-1' })
  expect(log).toContain('watch worker-1')
  expect(inbox.worker()).toBe('worker-1')
  inbox.fail('its worker died')
  await expect(answer).rejects.toMatchObject({ code: 'upstream_error' })
  expect(log).toEqual(expect.arrayContaining(['write off', 'unwatch worker-1']))
})

test('one that was settled without an answer does not wait for its deadline', async () => {
  const { events, log, findLater } = setUp({})
  const answer = collect(events)
  await expect.poll(() => log).toContain('keep queued')
  const [result] = await Promise.allSettled([answer, findLater({ status: 'settled' })])
  expect(result).toMatchObject({ status: 'rejected', reason: { code: 'model_unavailable' } })
})

test('a claim that arrives after the enqueueing failed unwatches nobody', async () => {
  const { events, log } = setUp({
    answer: (send) => {
      send(CLAIMED)
      throw new ApiError('model_unavailable', 'The service cannot take new work right now.')
    },
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(log.filter((step) => step.includes('watch'))).toEqual([])
})

test('a stream that is lost while it runs is written off, and says that it was interrupted', async () => {
  const { events, log, abandoned } = setUp({
    answer: (send, inbox) => {
      send(CLAIMED)
      inbox.fail('its worker died')
    },
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'upstream_error' })
  expect(log).toContain('write off')
  expect(abandoned).toMatchObject([{ epoch: 1, worker: 'worker-1' }])
})

test('one that nobody took in time is 503', async () => {
  const { events, log } = setUp({ answer: (_send, inbox) => inbox.fail('its deadline has passed') })
  await expect(collect(events)).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(log).toContain('write off')
})

test('a declined one is queued again and goes on in its next epoch', async () => {
  const { events, log } = setUp({
    answer: (send) => send(DECLINED),
    requeue: async (job, inbox) => {
      inbox.expectEpoch(2)
      return job
    },
  })
  expect(await collect(events)).toEqual([TEXT, END])
  expect(log).toContain('requeue')
  expect(log).not.toContain('write off')
})

test('the worker that takes over is watched in place of the one that declined', async () => {
  const { events, send, log, findLater } = setUp({
    requeue: async (job, inbox) => {
      inbox.expectEpoch(2)
      return job
    },
  })
  const answer = collect(events)
  await expect.poll(() => log).toContain('keep queued')
  await findLater({ status: 'claimed', worker: 'worker-0' })
  send(DECLINED)
  expect(await answer).toEqual([TEXT, END])
  expect(log.filter((step) => step.includes('watch'))).toEqual([
    'watch worker-0',
    'unwatch worker-0',
    'watch worker-1',
    'unwatch worker-1',
  ])
})

test('a declined one that cannot be queued again is settled by us: its worker has let it go', async () => {
  const { events, log } = setUp({
    answer: (send) => send(DECLINED),
    requeue: async () => {
      throw new ApiError('insufficient_credits', 'Not enough credits.')
    },
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'insufficient_credits' })
  expect(log).toContain('write off')
  expect(log).not.toContain('cancel')
})

import { expect, test } from 'vitest'
import type { Abandon } from '#apps/gateway/generation/abandon.ts'
import { createGenerate } from '#apps/gateway/generation/generate.ts'
import type { GenerationCall, OutputEvent } from '#apps/gateway/generation/generation-call.ts'
import { createOpenStream } from '#apps/gateway/generation/open-stream.ts'
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
const TOO_SMALL: GenerationEvent = { type: 'generation-declined', reason: 'hold-too-small', promptTokens: 99 }

const EXACT_HOLD = { ...generationJob().hold, amountNano: '42' }

const VECTOR = Float32Array.of(1, 0)

type Given = {
  /** The worker: called when the ticket has been added. */
  answer?: (send: (...events: GenerationEvent[]) => void, inbox: StreamInbox) => void
  enqueue?: () => Promise<void>
  /** The vectors have been deleted. */
  vectorsGone?: boolean
  /** Absent: nothing can be queued again, nor its hold be replaced. */
  requeue?: (inbox: StreamInbox) => Promise<void>
  call?: Partial<GenerationCall>
}

function setUp(given: Given) {
  const log: string[] = []
  const abandoned: (Parameters<Abandon>[0] & Parameters<Abandon>[1])[] = []
  const requeued: GenerationJob[] = []
  let open = 0
  let found: Opening = { status: 'opened' }
  let enqueueAgain: () => Promise<void> = async () => {}
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
      async estimated() {
        log.push('reserve')
        return generationJob().hold
      },
      async exact(_job, promptTokens) {
        log.push(`reserve exactly ${promptTokens}`)
        if (given.requeue === undefined) throw new ApiError('insufficient_credits', 'Not enough credits.')
        return EXACT_HOLD
      },
    },
    async enqueue(_job, { tag, epoch }) {
      log.push(`enqueue ${tag} ${epoch}`)
      await given.enqueue?.()
      given.answer?.(send, inbox)
      return found
    },
    async requeue(job, { inbox: declined, holdReplaced }) {
      log.push(holdReplaced ? 'requeue with a new hold' : 'requeue')
      requeued.push(job)
      await given.requeue?.(declined)
      send(CLAIMED, TEXT, END)
    },
    keepQueued: (enqueue) => {
      log.push('keep queued')
      enqueueAgain = enqueue
      return () => void log.push('stop queueing')
    },
    abandon(generation, end) {
      log.push(`abandon ${end.reason}`)
      abandoned.push({ ...generation, ...end })
    },
    async receiveVectors({ count }, from) {
      log.push(`receive ${count} from ${from.worker()}`)
      if (given.vectorsGone === true) throw new StreamLostError('vectors could not be taken')
      return Array.from({ length: count }, () => VECTOR)
    },
    openStream: createOpenStream({
      openInbox: () => {
        open += 1
        return inbox
      },
      watchWorker: (worker) => log.push(`watch ${worker}`),
      unwatchWorker: (worker) => log.push(`unwatch ${worker}`),
      limitMs: 60_000,
    }),
    inputEstimate: { learn: (_model, _request, promptTokens) => log.push(`learn ${promptTokens}`) },
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
    requeued,
    open: () => open,
    /** The generation is enqueued again, and the record is in this state. */
    async findLater(opening: Opening) {
      found = opening
      given = { ...given, answer: () => {} }
      await enqueueAgain()
    },
  }
}

async function collect(events: AsyncIterable<readonly OutputEvent[]>): Promise<OutputEvent[]> {
  const all: OutputEvent[] = []
  for await (const batch of events) all.push(...batch)
  return all
}

test('admit, reserve, enqueue, then the output alone; its end leaves nothing open', async () => {
  const { events, log, abandoned, open } = setUp({ answer: (send) => send(CLAIMED, TEXT, END) })
  expect(await collect(events)).toEqual([TEXT, END])
  expect(log.slice(0, 4)).toEqual(['admit', 'reserve', 'enqueue 9 1', 'keep queued'])
  expect(log).toEqual(
    expect.arrayContaining(['learn 3', 'watch worker-1', 'unwatch worker-1', 'stop queueing']),
  )
  expect(abandoned).toEqual([])
  expect(open()).toBe(0)
})

test('vectors are received as they come, before the end', async () => {
  const received: (readonly Float32Array[])[] = []
  const { events, log } = setUp({
    call: { onVectors: (vectors) => received.push(vectors) },
    answer: (send) => {
      send(CLAIMED, { type: 'vectors-ready', first: 0, count: 2 })
      send({ type: 'vectors-ready', first: 2, count: 1 }, END)
    },
  })
  expect(await collect(events)).toEqual([END])
  expect(received).toEqual([[VECTOR, VECTOR], [VECTOR]])
  expect(log.filter((line) => line.startsWith('receive'))).toEqual([
    'receive 2 from worker-1',
    'receive 1 from worker-1',
  ])
  expect(log).not.toContain('abandon caller-left')
})

test('a generation whose vectors are gone is lost, not cancelled at a charge', async () => {
  const { events, log } = setUp({
    vectorsGone: true,
    answer: (send) => send(CLAIMED, { type: 'vectors-ready', first: 0, count: 2 }),
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'upstream_error' })
  expect(log).toContain('abandon lost')
  expect(log).not.toContain('abandon caller-left')
})

test('a worker that reports an error has settled the generation: the error is thrown, nothing is abandoned', async () => {
  const { events, abandoned } = setUp({
    answer: (send) => send(CLAIMED, { type: 'generation-error', code: 'invalid_request', message: 'No.' }),
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'invalid_request', message: 'No.' })
  expect(abandoned).toEqual([])
})

test('a generation whose client hangs up is abandoned, whether it runs or waits', async () => {
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
  expect(running.log).toContain('abandon caller-left')

  const waiting = setUp({ call: { signal: AbortSignal.abort() } })
  expect(await collect(waiting.events)).toEqual([])
  expect(waiting.log).toEqual(['admit', 'reserve', 'abandon caller-left'])
  expect(waiting.abandoned).toMatchObject([{ worker: null }])
})

test('a generation whose consumer stops reading is abandoned', async () => {
  const { events, log, open } = setUp({ answer: (send) => send(CLAIMED, TEXT) })
  for await (const batch of events) {
    expect(batch).toEqual([TEXT])
    break
  }
  expect(log).toContain('abandon caller-left')
  expect(open()).toBe(0)
})

test('a generation whose enqueueing fails is refused, so that it costs nothing even if it was enqueued', async () => {
  const { events, log } = setUp({
    enqueue: async () => {
      throw new ApiError('model_unavailable', 'The service cannot take new work right now.')
    },
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(log).toContain('abandon refused')
  expect(log).not.toContain('abandon caller-left')
})

test('the worker that the record names is watched before its claim has arrived', async () => {
  const { events, inbox, log, findLater } = setUp({})
  const answer = collect(events)
  await expect.poll(() => log).toContain('keep queued')
  await findLater({ status: 'claimed', worker: 'worker-1' })
  expect(log).toContain('watch worker-1')
  expect(inbox.worker()).toBe('worker-1')
  inbox.fail('its worker died')
  await expect(answer).rejects.toMatchObject({ code: 'upstream_error' })
  expect(log).toEqual(expect.arrayContaining(['abandon lost', 'unwatch worker-1']))
})

test('a generation that was settled without an answer does not wait for its deadline', async () => {
  const { events, log, findLater } = setUp({})
  const answer = collect(events)
  await expect.poll(() => log).toContain('keep queued')
  const [result] = await Promise.allSettled([answer, findLater({ status: 'settled' })])
  expect(result).toMatchObject({ status: 'rejected', reason: { code: 'model_unavailable' } })
})

test('a claim that arrives after the enqueueing failed starts and stops no watch', async () => {
  const { events, log } = setUp({
    answer: (send) => {
      send(CLAIMED)
      throw new ApiError('model_unavailable', 'The service cannot take new work right now.')
    },
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(log.filter((step) => step.includes('watch'))).toEqual([])
})

test('a stream that is lost while it runs is abandoned as lost, with the error of an interruption', async () => {
  const { events, log, abandoned } = setUp({
    answer: (send, inbox) => {
      send(CLAIMED)
      inbox.fail('its worker died')
    },
  })
  await expect(collect(events)).rejects.toMatchObject({ code: 'upstream_error' })
  expect(log).toContain('abandon lost')
  expect(abandoned).toMatchObject([{ epoch: 1, worker: 'worker-1' }])
})

test('a generation that no worker claimed in time is 503', async () => {
  const { events, log } = setUp({ answer: (_send, inbox) => inbox.fail('its deadline has passed') })
  await expect(collect(events)).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(log).toContain('abandon lost')
})

test('a declined generation is queued again and goes on in its next epoch', async () => {
  const { events, log } = setUp({
    answer: (send) => send(DECLINED),
    requeue: async (inbox) => inbox.expectEpoch(2),
  })
  expect(await collect(events)).toEqual([TEXT, END])
  expect(log).toContain('requeue')
  expect(log).not.toContain('abandon lost')
})

test('the next worker is watched in place of the one that declined', async () => {
  const { events, send, log, findLater } = setUp({
    requeue: async (inbox) => inbox.expectEpoch(2),
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

test('a declined generation that cannot be queued again is lost: no worker has it', async () => {
  const requeue = async () => {
    throw new ApiError('model_unavailable', 'The service cannot take new work right now.')
  }
  const { events, log } = setUp({ answer: (send) => send(DECLINED), requeue })
  await expect(collect(events)).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(log).toContain('abandon lost')
  expect(log).not.toContain('abandon caller-left')
})

test('a hold that was too small is replaced by an exact one before the generation is queued again', async () => {
  const { events, log, requeued } = setUp({
    answer: (send) => send(TOO_SMALL),
    requeue: async (inbox) => inbox.expectEpoch(2),
  })
  expect(await collect(events)).toEqual([TEXT, END])
  expect(log.join()).toContain('reserve exactly 99,requeue with a new hold')
  expect(requeued[0]?.hold).toEqual(EXACT_HOLD)
})

test('a hold that cannot be replaced ends the generation as lost', async () => {
  const { events, log } = setUp({ answer: (send) => send(TOO_SMALL) })
  await expect(collect(events)).rejects.toMatchObject({ code: 'insufficient_credits' })
  expect(log).toContain('abandon lost')
  expect(log).not.toContain('requeue with a new hold')
})

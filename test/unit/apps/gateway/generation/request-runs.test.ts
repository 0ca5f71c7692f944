import { expect, test } from 'vitest'
import type { OutputEvent } from '#apps/gateway/generation/generation-call.ts'
import type { StartWait } from '#apps/gateway/generation/start-waits.ts'
import type { GenerationError } from '#libs/contracts/generation-event.ts'
import { claimed, declined, end, setUp, text } from './generate-under-test.ts'

/** Collects the output of each choice, by the choice's number. */
async function collectChoices(events: ReturnType<typeof setUp>['events']) {
  const byChoice: OutputEvent[][] = []
  await events((batch, choice = 0) => void (byChoice[choice] ??= []).push(...batch))
  return byChoice
}

const refused: GenerationError = { type: 'generation-error', code: 'upstream_error', message: 'No.' }

test('each choice is a generation, and one settlement counts the prompt once and the output of all', async () => {
  const { events, log, settled } = setUp({
    epochs: [(send) => send([claimed(), [text('one'), [1]], end(2)])],
    others: [[(send) => send([claimed({ worker: 'worker-2' }), [text('two'), [1, 2]], end(5)])]],
  })
  const [first, second] = await collectChoices(events)
  expect(first).toEqual([text('one'), end(2)])
  // The end that comes last has the usage of the request.
  expect(second).toEqual([text('two'), end(7)])
  expect(log.filter((entry) => /^(admit|reserve|queue)/.test(entry))).toEqual([
    'admit',
    'reserve',
    'queue',
    'queue of 1',
  ])
  expect(settled).toMatchObject([
    { job: { id: 'g1' }, outcome: 'completed', promptTokens: 3, completionTokens: 7 },
    { job: { id: 'g1+1' }, outcome: 'completed', promptTokens: 3, cachedTokens: 0, completionTokens: 0 },
  ])
})

test('the settlement has the hold as it was granted last, also if another choice let it grow', async () => {
  const { events, settled } = setUp({
    epochs: [(send) => send([claimed(), end(1)])],
    others: [
      [
        (send) =>
          send([claimed(), { type: 'generation-short', amountNano: '1000000', moreTokens: 256 }, end(1)]),
      ],
    ],
    growHold: ({ shares, choice }) =>
      void shares.grown(choice, { ...shares.whole(), amountNano: '1512000', receipt: 'of the larger hold' }),
  })
  await collectChoices(events)
  expect(settled[0]?.job.hold).toMatchObject({ amountNano: '1512000', receipt: 'of the larger hold' })
})

test('all choices of a request have the seats of one conversation, and one choice of the worker', async () => {
  const { events, generations } = setUp({
    epochs: [(send) => send([claimed(), [text('one'), [1]], end(1)])],
    others: [[(send) => send([claimed(), [text('two'), [1]], end(1)])]],
  })
  await collectChoices(events)
  const [first, second] = generations.map(({ seating }) => seating)
  expect(first).toBeDefined()
  expect(second).toBe(first)
})

test('a choice whose worker is lost goes on elsewhere, and the others do not notice', async () => {
  const { events, log, settled } = setUp({
    epochs: [(send) => send([claimed(), [text('one'), [1]], end(1)])],
    others: [
      [
        (send, inbox) => {
          send([claimed(), [text('tw'), [1, 2]]])
          inbox.lose('worker-dead')
        },
        (send) => send([claimed({ worker: 'worker-2', after: 2 }), [text('o'), [3]], end(3)]),
      ],
    ],
  })
  const [, second] = await collectChoices(events)
  expect(second).toEqual([text('tw'), text('o'), end(4)])
  expect(log).toContain('again after 2 of 1')
  expect(log).not.toContain('again after 1')
  expect(settled).toMatchObject([{ promptTokens: 3, completionTokens: 4 }, { epoch: 2 }])
})

test('if one choice fails, all end, and the request costs nothing', async () => {
  const { events, settled, log } = setUp({
    epochs: [(send) => send([claimed(), [text('one'), [1, 2]]])],
    others: [[(send) => send([claimed(), [text('two'), [1]], end(1)])], [(send) => send([refused])]],
  })
  await expect(collectChoices(events)).rejects.toThrow('No.')
  expect(settled.map(({ outcome }) => outcome)).toEqual(['fault', 'fault', 'fault'])
  expect(log).toContain('stop worker-1 1')
  expect(log.filter((entry) => entry.startsWith('close'))).toHaveLength(3)
})

test('a caller who leaves pays for the prompt and for what all choices have given', async () => {
  const leaving = new AbortController()
  const { events, settled } = setUp({
    call: { signal: leaving.signal },
    epochs: [(send) => send([claimed(), [text('one'), [1, 2]]])],
    others: [[(send) => send([claimed(), [text('two'), [1]], end(1)])], []],
  })
  const answers: (string | undefined)[] = []
  await events((batch, choice = 0) => {
    answers[choice] = batch.map((event) => ('text' in event ? event.text : '')).join('')
    if (answers[0] !== undefined && answers[1] !== undefined) leaving.abort()
  })
  expect(answers).toEqual(['one', 'two'])
  expect(settled).toMatchObject([
    { outcome: 'cancelled', promptTokens: 3, completionTokens: 3 },
    { outcome: 'cancelled', promptTokens: 3, completionTokens: 0 },
    { outcome: 'never-ran', promptTokens: 0, completionTokens: 0 },
  ])
})

test('the prompt is paid also if only a later choice was claimed', async () => {
  const leaving = new AbortController()
  const { events, settled } = setUp({
    call: { signal: leaving.signal },
    epochs: [],
    others: [[(send) => send([claimed({ promptTokens: 9 }), [text('two'), [1]]])]],
  })
  await events(() => leaving.abort())
  expect(settled[0]).toMatchObject({ outcome: 'cancelled', promptTokens: 9, completionTokens: 1 })
})

test('the cached tokens are those of an earlier request, not those that one choice finds of another', async () => {
  const cachedEnd = (cachedTokens: number) => {
    const event = end(1)
    if (event.type !== 'generation-end') throw new Error('no end')
    return { ...event, usage: { ...event.usage, cachedTokens } }
  }
  const cached = (cachedTokens: number) => ({ type: 'prompt-cached', cachedTokens }) as const
  const { events, settled } = setUp({
    epochs: [(send) => send([claimed({ promptTokens: 64 }), cached(48), [text('a'), [1]], cachedEnd(48)])],
    others: [
      [(send) => send([claimed({ promptTokens: 64 }), cached(16), [text('b'), [1]], cachedEnd(16)])],
      [(send) => send([claimed({ promptTokens: 64 }), cached(48), [text('c'), [1]], cachedEnd(48)])],
    ],
  })
  await collectChoices(events)
  // The other choices count in the fair order with the tokens that their engines had to compute.
  expect(settled).toMatchObject([
    { promptTokens: 64, cachedTokens: 16, completionTokens: 3 },
    { promptTokens: 48, cachedTokens: 0, completionTokens: 0 },
    { promptTokens: 16, cachedTokens: 0, completionTokens: 0 },
  ])
})

test('if the record refuses the first choice, the others are not queued and the hold is released', async () => {
  const { events, log, settled } = setUp({
    begin() {
      throw new Error('busy')
    },
    others: [[]],
  })
  await expect(collectChoices(events)).rejects.toThrow('busy')
  expect(log).not.toContain('queue of 1')
  // The record may have the first generation: only its own answer `busy` would rule that out.
  expect(settled).toMatchObject([{ job: { id: 'g1' }, outcome: 'fault' }])
  expect(log).not.toContain('release g1+1')
})

test('if a further choice cannot be queued, the request fails, free, once all have been asked for', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const endedBefore: number[] = []
  const { events, settled } = setUp({
    async begin(choice) {
      if (choice === 1) throw new Error('no memory')
      if (choice === 2) await promise
      endedBefore.push(settled.length)
    },
    epochs: [(send) => send([claimed(), [text('one'), [1]]])],
    others: [[], [(send) => send([claimed(), [text('three'), [1]]])]],
  })
  const failing = collectChoices(events)
  setImmediate(resolve)
  await expect(failing).rejects.toThrow('no memory')
  expect(endedBefore).toEqual([0, 0])
  expect(settled.map(({ outcome }) => outcome)).toEqual(['fault', 'fault', 'fault'])
})

test('each choice has its number, for its seed, and its share of the hold; all have one request', async () => {
  const finish = [(send: (events: readonly ReturnType<typeof end>[]) => void) => send([claimed(), end(1)])]
  const { events, generations } = setUp({ epochs: finish, others: [finish, finish] })
  await collectChoices(events)
  const jobs = generations.map(({ job }) => job)
  expect(new Set(jobs.map(({ request }) => request)).size).toBe(1)
  expect(
    jobs.map(({ id, choice, hold }) => [
      id.replace(/^[^+]*/, ''),
      choice,
      hold.outputTokens,
      hold.otherTokens,
    ]),
  ).toEqual([
    ['', undefined, 34, 66],
    ['+1', 1, 33, 67],
    ['+2', 2, 33, 67],
  ])
})

test('the first choice is admitted for all, and only it must be claimed in the time of a start', async () => {
  const startWait: StartWait = {
    limitS: 30,
    leftMs: () => 30_000,
    expectedMs: () => null,
    state: () => 'warming',
    begin: () => {},
    end: () => {},
  }
  const finish = [(send: (events: readonly ReturnType<typeof end>[]) => void) => send([claimed(), end(1)])]
  const { events, generations } = setUp({ startWait, epochs: finish, others: [finish] })
  await collectChoices(events)
  const admissions = generations.map(({ admission }) => admission)
  expect(admissions.map(({ place }) => place.cost)).toEqual([1, 40])
  expect(admissions.map((admission) => admission.startWait?.leftMs())).toEqual([30_000, Infinity])
  expect(admissions[1]?.startWait?.state()).toBe('warming')
})

test('a choice that is handed back gets its share of the exact hold', async () => {
  const { events, log } = setUp({
    epochs: [(send) => send([claimed(), end(1)])],
    others: [
      [
        (send) => send([declined({ reason: 'hold-too-small', promptTokens: 99 })]),
        (send) => send([claimed({ promptTokens: 99 }), end(1)]),
      ],
    ],
  })
  await collectChoices(events)
  expect(log).toContain('again after 42 of 1')
})

test('a choice that counts more tokens replaces the whole hold, and a choice that runs keeps its share', async () => {
  const asked: number[] = []
  let endFirst = () => {}
  const { events, replaced } = setUp({
    epochs: [
      (send) => {
        send([claimed(), { type: 'generation-short', amountNano: '1000000', moreTokens: 256 }])
        endFirst = () => send([end(1)])
      },
    ],
    others: [
      [
        (send) => send([declined({ reason: 'hold-too-small', promptTokens: 99 })]),
        (send) => {
          send([claimed({ promptTokens: 99 }), end(1)])
          endFirst()
        },
      ],
    ],
    growHold: ({ shares, choice }) =>
      void shares.grown(choice, { ...shares.whole(), amountNano: '1512000', outputTokens: 356 }),
    async exact({ hold }) {
      asked.push(hold.outputTokens)
      return { ...hold, amountNano: '1500000', outputTokens: 340 }
    },
  })
  await collectChoices(events)
  expect([asked, replaced]).toMatchObject([[356], [{ outputTokens: 34, otherTokens: 306 }]])
})

test('choices that were present at the death of an engine are queued again one after the other', async () => {
  const order: string[] = []
  let endFirst = () => {}
  const lost = (send: (events: readonly ReturnType<typeof declined>[]) => void) =>
    send([declined({ reason: 'engine-lost', blame: 'present' })])
  const { events } = setUp({
    epochs: [
      lost,
      (send) => {
        order.push('0 begins')
        send([claimed(), [text('a'), [1]]])
        setImmediate(() => {
          order.push('0 has read')
          send([[text('b'), [2, 3]]])
        })
        endFirst = () => send([end(3)])
      },
    ],
    others: [
      [
        lost,
        (send) => {
          order.push('1 begins')
          send([claimed(), end(1)])
          endFirst()
        },
      ],
    ],
  })
  await collectChoices(events)
  expect(order).toEqual(['0 begins', '0 has read', '1 begins'])
})

test('the cost that an answer reports is that of the whole request, with one rounding', async () => {
  const finish = [(send: (events: readonly ReturnType<typeof end>[]) => void) => send([claimed(), end(1)])]
  const { events } = setUp({ showsCost: true, epochs: finish, others: [finish] })
  const [first, second] = await collectChoices(events)
  expect(first?.at(-1)).not.toHaveProperty('usage.costNano')
  // 3 tokens of prompt for 1 nano-credit each, and 1 token of output of each choice for 2.
  expect(second?.at(-1)).toHaveProperty('usage.costNano', 7n)
})

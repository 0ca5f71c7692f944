import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { generationJob } from '../../../../../support/generation-job.ts'
import { CLAIMED, NEXT, paced, setUp, WAITING } from './dispatch-under-test.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

test('it is enqueued, and its job is sent without waiting for the answer', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { dispatched, log, enqueues, after } = setUp([WAITING], { enqueued: promise })
  const begun = dispatched.begin()
  await after(0)
  expect(log).toEqual(['enqueue 1', 'add 1'])
  resolve()
  await begun
  expect(enqueues[0]).toMatchObject({
    epoch: 1,
    tag: null,
    requirements: { features: ['chat'], window: 0 },
    place: { accountId: 'account-1', cost: 300, mostAhead: 5 },
    ids: new Uint32Array(0),
    promptTokens: null,
  })
  dispatched.close()
})

test('a job that was executed before its enqueue is followed by another', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { dispatched, log, after } = setUp([WAITING], { enqueued: promise })
  const begun = dispatched.begin()
  await after(10)
  resolve()
  await begun
  expect(log).toEqual(['enqueue 1', 'add 1', 'add 1.2'])
  dispatched.close()
})

test('one whose job cannot be added waits all the same', async () => {
  const { dispatched, waiting } = setUp([WAITING], { jobsFail: true })
  await dispatched.begin()
  expect([dispatched.mayBeQueued(), waiting()]).toEqual([true, 40])
  dispatched.close()
})

test('one that the record refuses is busy, and is not queued', async () => {
  const { dispatched, log } = setUp([{ status: 'busy', reason: 'queue', ahead: 9 }])
  await expect(dispatched.begin()).rejects.toMatchObject({ code: 'model_busy' })
  expect(log).toEqual(['enqueue 1', 'add 1', 'remove 1'])
  expect(dispatched.mayBeQueued()).toBe(false)
})

test('a queue that does not answer is model_unavailable; it may be queued all the same', async () => {
  const { dispatched } = setUp([new Error('Command timed out')])
  await expect(dispatched.begin()).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(dispatched.mayBeQueued()).toBe(true)
})

test('unclaimed for 3 s it is enqueued again under its tag, with another job', async () => {
  const { dispatched, log, enqueues, after } = setUp()
  await dispatched.begin()
  await after(2_999)
  expect(log).toEqual(['enqueue 1', 'add 1'])
  await after(1)
  expect(log).toEqual(['enqueue 1', 'add 1', 'enqueue 1', 'add 1.2'])
  expect(enqueues[1]?.tag).toBe(7)
  dispatched.close()
  await after(60_000)
  expect(enqueues).toHaveLength(2)
})

test('where jobs of others wait, none is added in place of a lost one', async () => {
  const { dispatched, log, after } = setUp([WAITING], { jobsWait: true })
  await dispatched.begin()
  await after(3_000)
  expect(log).toEqual(['enqueue 1', 'add 1', 'enqueue 1'])
  dispatched.close()
})

test('what ends while it waits takes the job away that was added last; what a worker has runs without', async () => {
  const { dispatched, log, after } = setUp()
  await dispatched.begin()
  await after(3_000)
  dispatched.close()
  expect(log.at(-1)).toBe('remove 1.2')
  const claimed = setUp()
  await claimed.dispatched.begin()
  claimed.dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
  claimed.dispatched.close()
  expect(claimed.log.join()).not.toContain('remove')
})

test('an enqueue of the same epoch that is repeated adds the same job', async () => {
  const { dispatched, log, after } = setUp([WAITING, new Error('Command timed out'), WAITING])
  await dispatched.begin()
  dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
  const again = dispatched.again(NEXT)
  await after(1_000)
  await again
  expect(log.filter((entry) => entry.startsWith('add'))).toEqual(['add 1', 'add 2', 'add 2'])
  dispatched.close()
})

test('while no engine has room the looks become rarer, and add no jobs', async () => {
  const { dispatched, log, after } = setUp([WAITING], { room: false })
  await dispatched.begin()
  await after(3_000 + 6_000 + 12_000 + 12_000)
  expect(log).toEqual(['enqueue 1', 'add 1', 'enqueue 1', 'enqueue 1', 'enqueue 1', 'enqueue 1'])
  dispatched.close()
})

test('a claim that was found is watched and asked about, until the worker is heard', async () => {
  const { dispatched, log, after } = setUp([WAITING, CLAIMED])
  await dispatched.begin()
  await after(3_000)
  expect(log.slice(2)).toEqual(['enqueue 1', 'watch worker-1', 'expect worker-1 n1'])
  dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
  await after(60_000)
  expect(log).toHaveLength(5)
  dispatched.close()
  expect(log.at(-1)).toBe('unwatch worker-1')
})

test('without a worker for its model it is lost after a while', async () => {
  const { dispatched, log, after } = setUp([WAITING], { served: false })
  await dispatched.begin()
  await after(3_000)
  expect(log.join()).not.toContain('lose')
  await after(6_000)
  expect(log.at(-1)).toBe('lose no-worker')
  dispatched.close()
})

test('while a worker is predicted to be ready before its deadline, it is not lost for want of one', async () => {
  const { dispatched, log, after } = setUp([WAITING], { served: false, startsAtMs: 50_000 })
  await dispatched.begin()
  await after(55_000)
  expect(log.join()).not.toContain('lose')
  dispatched.close()
})

test('a worker that is predicted for after its deadline is not waited for', async () => {
  const { dispatched, log, after } = setUp([WAITING], { served: false, startsAtMs: 70_000 })
  await dispatched.begin()
  await after(9_000)
  expect(log.at(-1)).toBe('lose no-worker')
  dispatched.close()
})

test('it counts as waiting, with its estimated prompt, until a worker claims it', async () => {
  const { dispatched, waiting } = setUp()
  expect(waiting()).toBe(0)
  await dispatched.begin()
  expect(waiting()).toBe(40)
  dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
  expect(waiting()).toBe(0)
  dispatched.close()
})

test('again it counts as waiting, with the prompt as counted and its output, until it ends', async () => {
  const { dispatched, waiting } = setUp([WAITING], { ids: [5, 6] })
  await dispatched.begin()
  dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
  await dispatched.again(NEXT)
  expect(waiting()).toBe(32)
  dispatched.close()
  expect(waiting()).toBe(0)
})

test('one that is refused does not wait', async () => {
  const { dispatched, waiting } = setUp([{ status: 'busy', reason: 'queue', ahead: 9 }])
  await expect(dispatched.begin()).rejects.toThrow('Busy.')
  expect(waiting()).toBe(0)
})

test('one that was settled by another is lost', async () => {
  const { dispatched, log, after } = setUp([WAITING, { status: 'settled' }])
  await dispatched.begin()
  await after(3_000)
  expect(log.at(-1)).toBe('lose settled')
  dispatched.close()
})

test('again: the fence first, then the ids, with the first claim’s count; then looked after as before', async () => {
  const { dispatched, log, enqueues, after } = setUp([WAITING], { ids: [5, 6] })
  await dispatched.begin()
  dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
  await dispatched.again(NEXT)
  expect(log.slice(2)).toEqual(['watch worker-1', 'unwatch worker-1', 'raise', 'enqueue 2', 'add 2'])
  expect(enqueues[1]).toMatchObject({
    epoch: 2,
    ids: Uint32Array.of(5, 6),
    promptTokens: 30,
    requirements: { features: ['chat', 'continue'] },
  })
  await after(3_000)
  expect(log.at(-2)).toBe('enqueue 2')
  dispatched.close()
})

test('a raw prompt needs a worker that does not render it', async () => {
  const job = generationJob()
  if (job.request.kind !== 'chat') throw new Error('a chat is dispatched')
  const request = { ...job.request, rawPrompt: { addsSpecialTokens: true } }
  const { dispatched, enqueues } = setUp([WAITING], { job: { ...job, request } })
  await dispatched.begin()
  expect(enqueues[0]?.requirements.features).toEqual(['chat', 'raw-prompt'])
  dispatched.close()
})

test('log probabilities are a need of every epoch', async () => {
  const job = generationJob()
  const request = { ...job.request, topLogprobs: 0 }
  const { dispatched, enqueues } = setUp([WAITING], { ids: [5, 6], job: { ...job, request } })
  await dispatched.begin()
  await dispatched.again(NEXT)
  expect(enqueues[0]?.requirements.features).toEqual(['chat', 'logprobs'])
  expect(enqueues[1]?.requirements.features).toEqual(['chat', 'logprobs', 'continue'])
  dispatched.close()
})

test('a misfit’s need is added, and a restart needs no continuation', async () => {
  const { dispatched, enqueues } = setUp()
  await dispatched.begin()
  await dispatched.again({ ...NEXT, requirement: 'window:65536' })
  await dispatched.again({ ...NEXT, requirement: 'vision', restart: true })
  expect(enqueues[1]?.requirements).toEqual({ features: ['chat'], window: 65_536 })
  expect(enqueues[2]?.requirements).toEqual({ features: ['chat', 'vision'], window: 65_536 })
  dispatched.close()
})

test('a new hold replaces the old one in the record and in the settlement', async () => {
  const { dispatched, enqueues } = setUp()
  await dispatched.begin()
  const hold = { ...dispatched.job().hold, amountNano: '42' }
  await dispatched.again({ ...NEXT, hold })
  expect(enqueues[1]?.job.jobText).toContain('"amountNano":"42"')
  expect(dispatched.job().hold).toEqual(hold)
  dispatched.close()
})

test('with a hold that has grown the generation goes on elsewhere, and is settled', async () => {
  const { dispatched, enqueues } = setUp()
  await dispatched.begin()
  const hold = { ...dispatched.job().hold, amountNano: '43', receipt: 'larger.bWFj' }
  dispatched.growHold(hold)
  await dispatched.again(NEXT)
  expect(enqueues[1]?.job.jobText).toContain('"receipt":"larger.')
  expect(dispatched.job().hold).toEqual(hold)
  dispatched.close()
})

test('a caller who leaves meanwhile ends the repetition', async () => {
  const { dispatched, leave, enqueues } = setUp([WAITING, new Error('closed')])
  await dispatched.begin()
  vi.useRealTimers()
  const again = dispatched.again(NEXT)
  leave()
  await again.catch(() => undefined)
  expect(enqueues.length).toBeLessThan(4)
  dispatched.close()
})

test('one that waits for the pace is lost for want of a worker when the others are', async () => {
  const { dispatched, again, log, enqueues, after } = await paced({ served: false })
  await after(5_000)
  await again
  expect(log.at(-1)).toBe('lose no-worker')
  expect(enqueues).toHaveLength(1)
  dispatched.close()
})

test('one that waits for the pace is lost at its deadline, and ends when its caller leaves', async () => {
  const late = await paced({})
  await late.after(62_000)
  await late.again
  expect(late.log.at(-1)).toBe('lose deadline')
  const left = await paced({})
  left.leave()
  await left.again
  for (const { dispatched, enqueues } of [late, left]) {
    expect(enqueues).toHaveLength(1)
    dispatched.close()
  }
})

test('while the queue does not answer, it is lost for want of a worker all the same', async () => {
  const { dispatched, log, after } = setUp([WAITING, new Error('Command timed out')], { served: false })
  await dispatched.begin()
  const again = dispatched.again(NEXT)
  await after(6_000)
  await again
  expect(log).toContain('lose no-worker')
  dispatched.close()
})

test('what was present when an engine died needs a worker that runs it alone, and the record counts the death', async () => {
  const { dispatched, enqueues } = setUp()
  await dispatched.begin()
  await dispatched.again({ ...NEXT, engineDeaths: 1 })
  expect(enqueues.map(({ engineDeaths }) => engineDeaths)).toEqual([0, 1])
  expect(enqueues.map(({ requirements }) => requirements.features.includes('alone'))).toEqual([false, true])
  dispatched.close()
})

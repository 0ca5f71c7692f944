import { Registry } from '@prometheus-io/client'
import pino from 'pino'
import { expect, test } from 'vitest'
import { createProgress } from '#apps/gateway/generation/measure/progress.ts'
import { createRecovery } from '#apps/gateway/generation/recovery.ts'
import { createStreamCounters } from '#apps/gateway/generation/measure/stream-metrics.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationDeclined } from '#libs/contracts/generation-event.ts'
import type { LossReason, StreamLost } from '#libs/event-bus/stream-inbox.ts'
import { generationCall } from '../../../../support/generation-call.ts'
import { generationJob } from '../../../../support/generation-job.ts'

const EXACT_HOLD = { ...generationJob().hold, amountNano: '42' }
const CLAIM = { promptTokens: 3, after: 0, guided: false }

const lost = (reason: LossReason): StreamLost => ({ type: 'stream-lost', reason })
const declined = (fields: Partial<GenerationDeclined>): GenerationDeclined => ({
  type: 'generation-declined',
  reason: 'worker-stopping',
  promptTokens: 0,
  requirement: '',
  blame: 'none',
  ...fields,
})

function setUp(contextWindow = 131_072) {
  const log: string[] = []
  const barred = new Set<string>()
  const metrics = createStreamCounters(new Registry())
  const recovery = createRecovery({
    reserve: {
      async exact(_job, promptTokens) {
        log.push(`reserve exactly ${promptTokens}`)
        return EXACT_HOLD
      },
    },
    picture: {
      find: () => ({
        slots: 1,
        running: 0,
        meanGenerationMs: null,
        slotTokensPerS: null,
        contextWindow,
      }),
    },
    metrics,
    poisonBound: {
      isBarred: (accountId) => barred.has(accountId),
      note: (accountId) => log.push(`poison of ${accountId}`),
    },
    log: pino({ level: 'silent' }),
  })
  const progress = createProgress('chat')
  const { caller } = generationCall()
  const notStarted = () => new ApiError('model_warming', 'The model is starting.')
  const job = generationJob()
  const generation = {
    job,
    caller,
    progress,
    engineDeaths: 0,
    epochTokens: 0,
    isPartlySent: false,
    notStarted,
  }
  const bar = () => barred.add(caller.accountId)
  return { recovery, progress, generation, log, recoveries: metrics.recoveries, bar }
}

const ON = { requirement: '', hold: null, engineDeaths: 0 }
/** The result after one death at which the generation was present. */
const SUSPECTED = { ...ON, engineDeaths: 1 }

test('a dead worker, lost frames, a hand-back and a missing part go on elsewhere', async () => {
  const { recovery, generation, recoveries } = setUp()
  for (const reason of ['worker-dead', 'frames-lost', 'not-running'] as const) {
    expect(await recovery(lost(reason), { ...generation, epochTokens: 1 })).toEqual(ON)
  }
  for (const reason of ['worker-stopping', 'engine-lost', 'incomplete'] as const) {
    expect(await recovery(declined({ reason }), generation)).toEqual(ON)
  }
  const { values } = await recoveries.get()
  expect(values.filter(({ value }) => value === 1).map(({ labels }) => labels.reason)).toEqual([
    'worker-stopping',
    'engine-lost',
    'incomplete',
    'worker-dead',
    'frames-lost',
    'not-running',
  ])
})

test('a misfit names what the next worker needs', async () => {
  const { recovery, generation } = setUp()
  const misfit = declined({ reason: 'misfit', requirement: 'window:65536' })
  expect(await recovery(misfit, generation)).toEqual({ ...ON, requirement: 'window:65536' })
})

test('a context that no engine has is refused, rather than waited for', async () => {
  const { recovery, generation } = setUp(32_768)
  const misfit = declined({ reason: 'misfit', requirement: 'window:65536' })
  await expect(recovery(misfit, generation)).rejects.toMatchObject({
    code: 'context_length_exceeded',
    message: expect.stringContaining('maximum context length is 32768 tokens'),
  })
})

test('a hold that was too small is replaced by an exact one', async () => {
  const { recovery, generation, log } = setUp()
  const tooSmall = declined({ reason: 'hold-too-small', promptTokens: 99 })
  expect(await recovery(tooSmall, generation)).toEqual({ ...ON, hold: EXACT_HOLD })
  expect(log).toContain('reserve exactly 99')
})

const PRESENT = declined({ reason: 'engine-lost', blame: 'present' })
const SUSPECT = declined({ reason: 'engine-lost', blame: 'suspect' })

test('the second death ends it where it is the suspect, and its account is noted', async () => {
  const { recovery, generation, log } = setUp()
  expect(await recovery(SUSPECT, generation)).toEqual(SUSPECTED)
  const second = recovery(SUSPECT, { ...generation, engineDeaths: 1 })
  await expect(second).rejects.toMatchObject({ code: 'upstream_error' })
  expect(log).toEqual([`poison of ${generation.caller.accountId}`])
})

test('of a worker that dies without a report, those without a token may have killed it; a second time, in quarantine, they did', async () => {
  const { recovery, progress, generation, log } = setUp()
  const dead = lost('worker-dead')
  expect(await recovery(dead, generation)).toEqual(SUSPECTED)
  const suspected = { ...generation, engineDeaths: 1 }
  // Without a claim, the worker had not given it to the engine. With three tokens, the engine has read it.
  expect(await recovery(dead, suspected)).toEqual(SUSPECTED)
  progress.claimed(CLAIM)
  expect(await recovery(dead, { ...suspected, epochTokens: 3 })).toEqual(SUSPECTED)
  progress.claimed(CLAIM)
  expect(await recovery(lost('frames-lost'), suspected)).toEqual(SUSPECTED)
  progress.claimed(CLAIM)
  const second = recovery(dead, { ...suspected, epochTokens: 2 })
  await expect(second).rejects.toMatchObject({ code: 'upstream_error' })
  expect(log).toHaveLength(1)
})

test('who is only present goes on, but not for ever, and its account is not noted', async () => {
  const { recovery, progress, generation, log } = setUp()
  for (let deaths = 1; deaths < 8; deaths += 1) {
    progress.claimed(CLAIM)
    progress.outputSeen()
    const present = recovery(PRESENT, { ...generation, engineDeaths: deaths - 1 })
    expect(await present).toEqual({ ...ON, engineDeaths: deaths })
  }
  const last = recovery(PRESENT, { ...generation, engineDeaths: 7 })
  await expect(last).rejects.toMatchObject({ code: 'upstream_error' })
  expect(log.join()).not.toContain('poison')
})

test('of a barred account nothing is run again that was present when an engine died', async () => {
  const { recovery, generation, bar } = setUp()
  bar()
  expect(await recovery(declined({ reason: 'worker-stopping' }), generation)).toEqual(ON)
  await expect(recovery(PRESENT, generation)).rejects.toMatchObject({ code: 'upstream_error' })
})

test('one that gives nothing while engines die is noted', async () => {
  const { recovery, progress, generation, log } = setUp()
  const twice = { ...generation, engineDeaths: 2 }
  for (let epoch = 1; epoch <= 7; epoch += 1) {
    progress.claimed(CLAIM)
    expect(await recovery(lost('not-running'), twice)).toEqual({ ...ON, engineDeaths: 2 })
  }
  await expect(recovery(lost('not-running'), twice)).rejects.toMatchObject({ code: 'upstream_error' })
  expect(log.at(-1)).toBe(`poison of ${generation.caller.accountId}`)
})

test('the eighth epoch in a row without output ends it', async () => {
  const { recovery, progress, generation } = setUp()
  for (let epoch = 1; epoch <= 7; epoch += 1) await recovery(lost('worker-dead'), generation)
  progress.claimed(CLAIM)
  progress.outputSeen()
  for (let epoch = 1; epoch <= 8; epoch += 1) await recovery(lost('worker-dead'), generation)
  await expect(recovery(lost('worker-dead'), generation)).rejects.toMatchObject({ code: 'upstream_error' })
})

test('an output that was sent in part and cannot be continued ends with an error', async () => {
  const { recovery, generation } = setUp()
  const again = recovery(lost('worker-dead'), { ...generation, isPartlySent: true })
  await expect(again).rejects.toMatchObject({ code: 'upstream_error' })
})

test('deadline, an absent bus or worker, a stopping gateway and a settlement by another end it: before a claim as 503, later as 502', async () => {
  for (const reason of ['deadline', 'bus-away', 'settled', 'no-worker', 'gateway-stopping'] as const) {
    const { recovery, progress, generation } = setUp()
    await expect(recovery(lost(reason), generation)).rejects.toMatchObject({ code: 'model_unavailable' })
    progress.claimed(CLAIM)
    await expect(recovery(lost(reason), generation)).rejects.toMatchObject({ code: 'upstream_error' })
  }
})

test('a model that was not started in time ends the generation with the error of the admission', async () => {
  const { recovery, generation } = setUp()
  await expect(recovery(lost('not-started'), generation)).rejects.toMatchObject({ code: 'model_warming' })
})

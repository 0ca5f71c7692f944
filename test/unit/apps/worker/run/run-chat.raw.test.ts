import { expect, test } from 'vitest'
import type { EngineEnd, EngineTokens } from '#apps/worker/engine/engine-client.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { END, processUnderTest, PROMPT, tokens, type Given } from '../process-under-test.ts'

const tokenizer = await loadTokenizer('models/tiny')
const encode = async (text: string) => Array.from(await tokenizer.encode(text))

const { request } = generationJob()
const raw = (more: Partial<GenerationJob> = {}, mostTokens?: number): NonNullable<Given['job']> => ({
  request: {
    ...request,
    topLogprobs: 2,
    rawPrompt: { addsSpecialTokens: true, ...(mostTokens !== undefined && { mostTokens }) },
  },
  ...more,
})
const STOP: EngineEnd = { ...END, finishReason: 'stop' }

/** The first tokens of a call that asks for the log probabilities of `PROMPT`. */
const first = (ids: readonly number[]): EngineTokens => ({
  ...tokens(ids),
  logprobs: ids.map((id) => ({ logprob: -1, topIds: [id], topLogprobs: [-1] })),
  promptLogprobs: Array.from(PROMPT.ids, (id, at) =>
    at === 0
      ? { logprob: null, topIds: [], topLogprobs: [] }
      : { logprob: -2, topIds: [id], topLogprobs: [-2] },
  ),
})

test('the log probabilities of a raw prompt are sent before the first output', async () => {
  const ids = await encode('one')
  const { events, requests } = await processUnderTest(tokenizer, {
    job: raw(),
    async *engine() {
      yield first(ids)
      yield STOP
    },
  })
  expect(requests).toMatchObject([{ topLogprobs: 2, promptLogprobs: 2 }])
  expect(events.map(({ type }) => type).slice(0, 3)).toEqual([
    'generation-claimed',
    'prompt-logprobs',
    'token-logprobs',
  ])
  expect(events[1]).toMatchObject({ first: 0, tokens: [{ logprob: null }, { logprob: -2 }, { logprob: -2 }] })
})

test('an epoch that continues an output does not ask for the log probabilities of the prompt again', async () => {
  const before = await encode('one')
  const { requests } = await processUnderTest(tokenizer, {
    job: raw(),
    claimed: { epoch: 2, ids: Uint32Array.from(before), promptTokens: 3 },
    async *engine() {
      yield STOP
    },
  })
  expect(requests[0]?.promptLogprobs).toBeUndefined()
})

test('without wanted output, the token that the engine generates is neither sent nor charged', async () => {
  const { events, ids, requests, seen, usage } = await processUnderTest(tokenizer, {
    job: raw({ maxOutputTokens: 0 }),
    async *engine() {
      yield first(await encode('one'))
      yield STOP
    },
  })
  expect(requests).toMatchObject([{ maxTokens: 1, promptLogprobs: 2 }])
  expect(events.map(({ type }) => type)).toEqual(['generation-claimed', 'prompt-logprobs', 'generation-end'])
  expect(events.at(-1)).toMatchObject({ finishReason: 'length' })
  expect(ids).toEqual([])
  expect(usage).toMatchObject({ promptTokens: 3, completionTokens: 0 })
  // The token does not wait to be paid.
  expect(seen.moneyEnds).toBe(0)
})

test('a prompt whose list would be too long is refused before the engine runs', async () => {
  const { events, requests } = await processUnderTest(tokenizer, { job: raw({}, 2) })
  expect(requests).toEqual([])
  expect(events).toMatchObject([
    {
      type: 'generation-error',
      code: 'invalid_request',
      message: "'prompt': a prompt with these log probabilities has at most 2 tokens; the prompt has 3.",
    },
  ])
})

test('at the deadline, an answer without the log probabilities of its prompt fails', async () => {
  const { events } = await processUnderTest(tokenizer, {
    job: raw(),
    async *engine(run) {
      yield* []
      run.stop('deadline')
    },
  })
  expect(events.at(-1)).toMatchObject({ type: 'generation-error', code: 'model_unavailable' })
})

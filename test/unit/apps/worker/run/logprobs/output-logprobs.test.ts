import { expect, test } from 'vitest'
import type { EngineEnd, EngineTokens } from '#apps/worker/engine/engine-client.ts'
import type { GenerationEvent, TokenLogprob } from '#libs/contracts/generation-event.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { generationJob } from '../../../../../support/generation-job.ts'
import { END, processUnderTest, tokens, type Given } from '../../process-under-test.ts'

const tokenizer = await loadTokenizer('models/tiny')

const encode = async (text: string) => Array.from(await tokenizer.encode(text))
const LENGTH: EngineEnd = { ...END, finishReason: 'length' }
/** The engine's numbers: token `at` of an output has the log probability -1 - at, and two tokens are listed. */
const withLogprobs = (ids: readonly number[], from = 0): EngineTokens => ({
  ...tokens(ids),
  logprobs: ids.map((id, at) => ({
    logprob: -1 - from - at,
    topIds: [id, 39],
    topLogprobs: [-1 - from - at, -Infinity],
  })),
})

const withRequest = (given: Given): Given => ({
  ...given,
  job: { ...given.job, request: { ...generationJob().request, topLogprobs: 2 } },
})

const logprobsOf = (events: readonly GenerationEvent[]) =>
  events.flatMap((event): readonly TokenLogprob[] => (event.type === 'token-logprobs' ? event.tokens : []))

test('each log probability is sent in one group with its id, right before the output of its token', async () => {
  const ids = await encode('one 🌾')
  const { events, groups, requests } = await processUnderTest(
    tokenizer,
    withRequest({
      async *engine() {
        yield withLogprobs(ids)
        yield LENGTH
      },
    }),
  )
  expect(requests).toMatchObject([{ topLogprobs: 2 }])
  expect(logprobsOf(events).map(({ logprob }) => logprob)).toEqual(ids.map((_, at) => -1 - at))
  const [first] = logprobsOf(events)
  expect(first).toEqual({
    token: 'one',
    logprob: -1,
    top: [
      { token: 'one', logprob: -1 },
      { token: 'H', logprob: -9_999 },
    ],
  })
  // A token whose text is not complete does not wait either.
  for (const { event, ids: sent } of groups.flat()) {
    const described = event.type === 'token-logprobs' ? event.tokens.length : 0
    expect([described, sent.length]).toEqual(event.type === 'token-logprobs' ? [1, 1] : [0, 0])
  }
  expect(events.map(({ type }) => type).slice(0, 3)).toEqual([
    'generation-claimed',
    'token-logprobs',
    'text-delta',
  ])
  expect(logprobsOf(events).map(({ token }) => token)).toContain(' 🌾')
})

test('a continuation in the middle of a character repeats no log probability and names its tokens alike', async () => {
  const ids = await encode('one 🌾 two')
  const whole = await processUnderTest(
    tokenizer,
    withRequest({
      async *engine() {
        yield withLogprobs(ids)
        yield LENGTH
      },
    }),
  )
  for (let cut = 1; cut < ids.length; cut += 1) {
    const continued = await processUnderTest(
      tokenizer,
      withRequest({
        claimed: { epoch: 2, ids: Uint32Array.from(ids.slice(0, cut)), promptTokens: 3 },
        async *engine() {
          yield withLogprobs(ids.slice(cut), cut)
          yield LENGTH
        },
      }),
    )
    expect(logprobsOf(continued.events)).toEqual(logprobsOf(whole.events).slice(cut))
  }
})

test('tokens that wait for a larger hold keep their log probabilities', async () => {
  const ids = await encode('one two three four five six seven eight nine ten')
  const hold = { ...generationJob().hold, amountNano: '13', outputTokens: 5 }
  const { events } = await processUnderTest(
    tokenizer,
    withRequest({
      job: { hold },
      async *engine(run) {
        yield withLogprobs(ids)
        setImmediate(() => run.onHold?.({ amountNano: '1000', isFinal: false }))
        yield LENGTH
      },
    }),
  )
  expect(
    logprobsOf(events)
      .map(({ token }) => token)
      .join(''),
  ).toBe(tokenizer.decode(ids))
})

test.for([
  ['none', tokens([39])],
  ['fewer than tokens', { ...withLogprobs([39]), ids: [39, 548] }],
  [
    'one that is not a number',
    { ...tokens([39]), logprobs: [{ logprob: NaN, topIds: [], topLogprobs: [] }] },
  ],
] as const)('an engine that sends %s fails the generation', async ([, sent]) => {
  const { events } = await processUnderTest(
    tokenizer,
    withRequest({
      async *engine() {
        yield sent
        yield LENGTH
      },
    }),
  )
  expect(logprobsOf(events)).toEqual([])
  expect(events.at(-1)).toMatchObject({
    type: 'generation-declined',
    reason: 'engine-lost',
    blame: 'suspect',
  })
})

test('a request without log probabilities sends none, also if the engine reports them', async () => {
  const { events, requests } = await processUnderTest(tokenizer, {
    async *engine() {
      yield withLogprobs(await encode('one'))
      yield LENGTH
    },
  })
  expect(logprobsOf(events)).toEqual([])
  expect(requests).toMatchObject([expect.not.objectContaining({ topLogprobs: expect.anything() })])
})

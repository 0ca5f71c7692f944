import { expect, it } from 'vitest'
import { z } from 'zod'
import { CompletionBody } from '#apps/gateway/endpoints/completions/completion-body.ts'
import {
  toCompletionLogprobs,
  toTopLogprobs,
} from '#apps/gateway/endpoints/completions/completion-logprobs.ts'
import { createCompletionChunks } from '#apps/gateway/endpoints/completions/to-chunks.ts'
import { toGeneration } from '#apps/gateway/endpoints/completions/to-generation.ts'
import { toObject } from '#apps/gateway/endpoints/completions/to-object.ts'
import { collect } from '#apps/gateway/generation/output/collect.ts'
import type { OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import { parseBody } from '#apps/gateway/http/parse-body.ts'
import type { TokenLogprob } from '#libs/contracts/generation-event.ts'
import { createAnswer } from '#test/support/answer.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const token = (text: string, own: number, others: readonly [string, number][] = []): TokenLogprob => ({
  token: text,
  logprob: own,
  top: [text, ...others.map(([other]) => other)].map((one, at) => ({
    token: one,
    logprob: [own, ...others.map(([, logprob]) => logprob)][at] ?? 0,
  })),
})

/** The tokens of vLLM 0.32.0's recorded answer to an echo of `Hello` with `logprobs` of 1. */
const HELLO = [
  token('el', -7.624619483947754, [[' Stra', -7.624612331390381]]),
  token('lo', -7.624616622924805, [['ameter', -7.624612331390381]]),
  token('', -7.624613285064697, [[' x', -7.7]]),
]
const END: OutputEvent = {
  type: 'generation-end',
  finishReason: 'length',
  usage: { promptTokens: 5, cachedTokens: 0, completionTokens: 3, reasoningTokens: 0 },
}

it('lists the output token in addition to the most probable ones, as vLLM does', () => {
  expect(toTopLogprobs(1)).toBe(2)
  expect(toCompletionLogprobs(HELLO, { count: 1, offset: 1 })).toEqual({
    text_offset: [1, 3, 5],
    token_logprobs: [-7.624619483947754, -7.624616622924805, -7.624613285064697],
    tokens: ['el', 'lo', ''],
    top_logprobs: [
      { el: -7.624619483947754, ' Stra': -7.624612331390381 },
      { lo: -7.624616622924805, ameter: -7.624612331390381 },
      { '': -7.624613285064697 },
    ],
  })
})

it('lists the output token alone for a count of 0, and asks the engine for no more than its limit', () => {
  expect([toTopLogprobs(0), toTopLogprobs(20)]).toEqual([1, 20])
  expect(toCompletionLogprobs([token('a', -1)], { count: 0, offset: 0 }).top_logprobs).toEqual([{ a: -1 }])
})

it('offsets count characters, not UTF-16 units', () => {
  const tokens = [token('🌾', -1), token('b', -1)]
  expect(toCompletionLogprobs(tokens, { count: 0, offset: 2 }).text_offset).toEqual([2, 3])
})

const Chunk = z.object({ choices: z.tuple([z.object({ text: z.string(), logprobs: z.unknown() })]) })

it('a whole answer has all tokens; the chunks of a stream have them with offsets of the whole text', async () => {
  const answer = createAnswer({ id: 'x', model: 'org/demo', options: { logprobs: 1 } })
  const batches: OutputEvent[][] = [
    [
      { type: 'token-logprobs', tokens: HELLO.slice(0, 1) },
      { type: 'text-delta', text: 'el' },
    ],
    [
      { type: 'token-logprobs', tokens: HELLO.slice(1, 2) },
      { type: 'text-delta', text: 'lo' },
    ],
    [{ type: 'token-logprobs', tokens: HELLO.slice(2) }, END],
  ]
  const generation = await collect(async (send) => batches.forEach((batch) => send(batch)))
  const whole = toCompletionLogprobs(HELLO, { count: 1, offset: 0 })
  expect(toObject(generation, answer).choices[0]).toMatchObject({ text: 'ello', logprobs: whole })
  const chunks = createCompletionChunks(answer)
  const lines = batches
    .map((batch) => chunks.render(batch))
    .join('')
    .split('\n\n')
  const choices = lines
    .filter((line) => line.startsWith('data: {'))
    .map((line) => Chunk.parse(JSON.parse(line.slice(6))).choices[0])
  expect(choices).toEqual([
    { text: 'el', logprobs: toCompletionLogprobs(HELLO.slice(0, 1), { count: 1, offset: 0 }) },
    { text: 'lo', logprobs: toCompletionLogprobs(HELLO.slice(1, 2), { count: 1, offset: 2 }) },
    { text: '', logprobs: toCompletionLogprobs(HELLO.slice(2), { count: 1, offset: 4 }) },
  ])
})

it.each([
  [undefined, undefined],
  [false, undefined],
  [0, 1],
  [5, 6],
  [20, 20],
])('logprobs of %s asks the engine for %s tokens', (logprobs, expected) => {
  const body = parseBody(CompletionBody, { prompt: 'Hi', logprobs })
  expect(toGeneration(body, modelSpec({ id: 'org/demo' })).request.topLogprobs).toBe(expected)
})

it.each([21, -1, true, 'x'])('refuses logprobs of %j and names it', (logprobs) => {
  expect(() => parseBody(CompletionBody, { prompt: 'Hi', logprobs })).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      param: 'logprobs',
      message: expect.stringContaining('from 0 to 20'),
    }),
  )
})

import { expect, it } from 'vitest'
import { z } from 'zod'
import { ChatBody } from '#apps/gateway/endpoints/chat-completions/chat-body.ts'
import { createChatChunks } from '#apps/gateway/endpoints/chat-completions/to-chunks.ts'
import { toGeneration } from '#apps/gateway/endpoints/chat-completions/to-generation.ts'
import { toObject } from '#apps/gateway/endpoints/chat-completions/to-object.ts'
import { collect } from '#apps/gateway/generation/output/collect.ts'
import type { OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import { parseBody } from '#apps/gateway/http/parse-body.ts'
import { createAnswer } from '#test/support/answer.ts'
import { modelSpec } from '#test/support/model-spec.ts'

/** `choices[0].logprobs` of each chunk of vLLM 0.32.0, with `top_logprobs` of 2. */
const RECORDED = [
  null,
  `{"content":[{"token":"qui","logprob":-7.6246137619018555,"bytes":[113,117,105],"top_logprobs":[{"token":"qui","logprob":-7.6246137619018555,"bytes":[113,117,105]},{"token":"#\\n","logprob":-7.6246137619018555,"bytes":[35,10]}]}]}`,
  `{"content":[{"token":" offset","logprob":-7.624612808227539,"bytes":[32,111,102,102,115,101,116],"top_logprobs":[{"token":" offset","logprob":-7.624612808227539,"bytes":[32,111,102,102,115,101,116]},{"token":"ap","logprob":-7.624613285064697,"bytes":[97,112]}]}]}`,
].map((json) => (json === null ? null : JSON.parse(json)))

const logprob = (token: string, own: number, [other, its]: [string, number]) => ({
  token,
  logprob: own,
  top: [
    { token, logprob: own },
    { token: other, logprob: its },
  ],
})
const TOKENS = [
  logprob('qui', -7.6246137619018555, ['#\n', -7.6246137619018555]),
  logprob(' offset', -7.624612808227539, ['ap', -7.624613285064697]),
]
const END: OutputEvent = {
  type: 'generation-end',
  finishReason: 'length',
  usage: { promptTokens: 5, cachedTokens: 0, completionTokens: 2, reasoningTokens: 0 },
}
const EVENTS: readonly OutputEvent[] = TOKENS.flatMap((token) => [
  { type: 'token-logprobs', tokens: [token] } as const,
  { type: 'text-delta', text: token.token } as const,
])

const answer = (logprobs: boolean) =>
  createAnswer({ id: 'x', model: 'org/demo', options: { includeUsage: false, logprobs } })

const Chunk = z.object({
  choices: z.tuple([
    z.looseObject({ delta: z.object({ content: z.string().optional() }), logprobs: z.unknown() }),
  ]),
})

function chunksOf(batches: readonly (readonly OutputEvent[])[]) {
  const chunks = createChatChunks(answer(true))
  const text = batches.map((batch) => chunks.render(batch)).join('')
  const lines = text.split('\n\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => Chunk.parse(JSON.parse(line.slice(6))).choices[0])
}

it('each chunk has the log probabilities of its tokens, as vLLM writes them', () => {
  const [role, first, second, finish] = chunksOf([[...EVENTS, END]])
  expect([role?.logprobs, first?.logprobs, second?.logprobs]).toEqual(RECORDED)
  expect([first?.delta.content, second?.delta.content]).toEqual(['qui', ' offset'])
  expect(finish).toMatchObject({ logprobs: null, finish_reason: 'length' })
})

it('tokens without a text of their own come with the next chunk, or with the finish', () => {
  const [one, other] = TOKENS
  const [, first, finish] = chunksOf([
    [{ type: 'token-logprobs', tokens: TOKENS.slice(0, 1) }],
    [{ type: 'token-logprobs', tokens: TOKENS.slice(1) }],
    [{ type: 'text-delta', text: 'x' }],
    [{ type: 'token-logprobs', tokens: TOKENS.slice(1) }, END],
  ])
  expect(first?.logprobs).toMatchObject({ content: [{ token: one?.token }, { token: other?.token }] })
  expect(finish?.logprobs).toMatchObject({ content: [{ token: other?.token }] })
})

it('a whole answer has the entries of all tokens in order, and none if they were not requested', async () => {
  const generation = await collect(async (send) => send([...EVENTS, END]))
  const content = RECORDED.flatMap((recorded) => recorded?.content ?? [])
  expect(toObject(generation, answer(true)).choices[0]?.logprobs).toEqual({ content })
  expect(toObject(generation, answer(false)).choices[0]).not.toHaveProperty('logprobs')
})

const topLogprobsOf = (body: object) =>
  toGeneration(
    parseBody(ChatBody, { messages: [{ role: 'user', content: 'Hi' }], ...body }),
    modelSpec({ id: 'org/demo' }),
  ).request.topLogprobs

it.each([
  [{}, undefined],
  [{ logprobs: false, top_logprobs: 0 }, undefined],
  [{ logprobs: null, top_logprobs: null }, undefined],
  [{ logprobs: true }, 0],
  [{ logprobs: true, top_logprobs: 20 }, 20],
])('%j asks for %s tokens', (body, expected) => {
  expect(topLogprobsOf(body)).toBe(expected)
})

it.each([
  [{ top_logprobs: 2 }, 'top_logprobs', "'logprobs' to be true"],
  [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs', 'from 0 to 20'],
  [{ logprobs: true, top_logprobs: -1 }, 'top_logprobs', 'from 0 to 20'],
  [{ logprobs: 5 }, 'logprobs', 'true or false'],
])('refuses %j and names %s', (body, param, text) => {
  expect(() => topLogprobsOf(body)).toThrow(
    expect.objectContaining({ code: 'invalid_request', param, message: expect.stringContaining(text) }),
  )
})

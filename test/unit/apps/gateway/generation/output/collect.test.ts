import { expect, it } from 'vitest'
import { collect } from '#apps/gateway/generation/output/collect.ts'
import type { OutputEvent, SendOutput } from '#apps/gateway/generation/request/generation-call.ts'

const usage = { promptTokens: 3, cachedTokens: 1, completionTokens: 2, reasoningTokens: 1 }

const output =
  (...batches: OutputEvent[][]) =>
  async (send: SendOutput) =>
    batches.forEach((batch) => send(batch))

it('folds deltas across batches and keeps tool calls apart by index', async () => {
  const finished = await collect(
    output(
      [{ type: 'reasoning-delta', text: 'hm' }],
      [
        { type: 'reasoning-delta', text: 'm' },
        { type: 'text-delta', text: 'a' },
      ],
      [{ type: 'text-delta', text: 'b' }],
      [
        { type: 'tool-call-start', index: 0, id: 'c0', name: 'f' },
        { type: 'tool-call-start', index: 1, id: 'c1', name: 'g' },
        { type: 'tool-call-delta', index: 0, text: '{"x"' },
        { type: 'tool-call-delta', index: 1, text: '{}' },
        { type: 'tool-call-delta', index: 0, text: ':1}' },
      ],
      [{ type: 'generation-end', finishReason: 'tool-calls', usage }],
    ),
  )
  const calls = [
    { id: 'c0', name: 'f', arguments: '{"x":1}' },
    { id: 'c1', name: 'g', arguments: '{}' },
  ]
  expect(finished).toEqual({
    parts: [
      { type: 'reasoning', text: 'hmm' },
      { type: 'text', text: 'ab' },
      ...calls.map((call) => ({ type: 'tool-call', call })),
    ],
    reasoning: 'hmm',
    text: 'ab',
    toolCalls: calls,
    finishReason: 'tool-calls',
    usage,
  })
})

it('each text has the log probabilities of its own tokens, also where their texts differ from it', async () => {
  const logprob = (token: string) => ({ token, logprob: -1, top: [] })
  const tokens = (...texts: string[]) => ({ type: 'token-logprobs', tokens: texts.map(logprob) }) as const
  const { parts, logprobs } = await collect(
    output([
      tokens('hm'),
      { type: 'reasoning-delta', text: 'hm' },
      tokens('a', 'b'),
      { type: 'text-delta', text: '\uFFFDb' },
      tokens('f'),
      { type: 'tool-call-start', index: 0, id: 'c0', name: 'f' },
      tokens('{}'),
      { type: 'tool-call-delta', index: 0, text: '{}' },
      tokens('c'),
      { type: 'text-delta', text: '\uFFFDc' },
      tokens('</s>'),
      { type: 'generation-end', finishReason: 'tool-calls', usage },
    ]),
  )
  expect(parts).toMatchObject([
    { type: 'reasoning' },
    { type: 'text', logprobs: ['a', 'b'].map(logprob) },
    { type: 'tool-call' },
    { type: 'text', logprobs: ['c'].map(logprob) },
  ])
  expect(logprobs).toHaveLength(7)
})

it('the log probabilities of a prompt are kept apart from those of the output', async () => {
  const logprob = (token: string) => ({ token, logprob: -1, top: [] })
  const first = { token: 'a', logprob: null, top: [] }
  const { promptLogprobs, logprobs } = await collect(
    output([
      { type: 'prompt-logprobs', first: 0, tokens: [first] },
      { type: 'prompt-logprobs', first: 1, tokens: [logprob('b')] },
      { type: 'token-logprobs', tokens: [logprob('c')] },
      { type: 'text-delta', text: 'c' },
      { type: 'generation-end', finishReason: 'stop', usage },
    ]),
  )
  expect(promptLogprobs).toEqual([first, logprob('b')])
  expect(logprobs).toEqual([logprob('c')])
})

it('keeps the parts in their order, text after a call for itself, and none that is empty', async () => {
  const finished = await collect(
    output([
      { type: 'text-delta', text: 'a' },
      { type: 'tool-call-start', index: 0, id: 'c0', name: 'f' },
      { type: 'text-delta', text: '' },
      { type: 'text-delta', text: 'b' },
      { type: 'generation-end', finishReason: 'tool-calls', usage },
    ]),
  )
  expect(finished.parts).toEqual([
    { type: 'text', text: 'a' },
    { type: 'tool-call', call: { id: 'c0', name: 'f', arguments: '' } },
    { type: 'text', text: 'b' },
  ])
  expect(finished.text).toBe('ab')
})

it('fails when the output stops without its end', async () => {
  await expect(collect(output([{ type: 'text-delta', text: 'a' }]))).rejects.toMatchObject({
    code: 'upstream_error',
  })
})

it('fails when a tool call goes on that never began', async () => {
  await expect(collect(output([{ type: 'tool-call-delta', index: 0, text: '{' }]))).rejects.toMatchObject({
    code: 'upstream_error',
  })
})

it('keeps choices apart, in their order, with the usage of the last end', async () => {
  const all = { ...usage, completionTokens: 9 }
  const finished = await collect(async (send) => {
    send([{ type: 'text-delta', text: 'c' }], 2)
    send([{ type: 'text-delta', text: 'a' }])
    send([{ type: 'text-delta', text: 'b' }], 1)
    send([{ type: 'generation-end', finishReason: 'length', usage }], 1)
    send([{ type: 'text-delta', text: 'A' }], 0)
    send([{ type: 'generation-end', finishReason: 'stop', usage }], 0)
    send([{ type: 'generation-end', finishReason: 'stop', stopString: '.', usage: all }], 2)
  })
  expect(finished).toMatchObject({ text: 'aA', finishReason: 'stop', usage: all })
  expect(finished.otherChoices).toMatchObject([
    { text: 'b', finishReason: 'length' },
    { text: 'c', finishReason: 'stop', stopString: '.' },
  ])
})

it.each([0, 1, 2])('is an upstream_error if choice %i has no end', async (missing) => {
  const ask = collect(async (send) => {
    for (const choice of [0, 1, 2]) {
      if (choice !== missing) send([{ type: 'generation-end', finishReason: 'stop', usage }], choice)
    }
    if (missing === 2) send([{ type: 'text-delta', text: 'c' }], 2)
  })
  await expect(ask).rejects.toMatchObject({ code: 'upstream_error' })
})

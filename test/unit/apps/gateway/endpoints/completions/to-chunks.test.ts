import { expect, it } from 'vitest'
import { createCompletionChunks } from '#apps/gateway/endpoints/completions/to-chunks.ts'
import { createAnswer } from '#test/support/answer.ts'

it('a legacy stream sends nothing before its first text, so that a failure during reasoning still gets an HTTP status', () => {
  const chunks = createCompletionChunks(
    createAnswer({ id: '0197-x', model: 'org/demo', options: { logprobs: null } }),
  )
  expect(chunks.render([{ type: 'reasoning-delta', text: 'hm' }])).toBe('')
})

it('the chunks of several legacy answers alternate, and the stream ends with the last of them', () => {
  const chunks = createCompletionChunks(
    createAnswer({ id: '0197-x', model: 'org/demo', options: { logprobs: 0, choices: 2 } }),
  )
  const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 1 }
  const end = { type: 'generation-end', finishReason: 'length', usage } as const
  const token = (text: string) =>
    ({ type: 'token-logprobs', tokens: [{ token: text, logprob: -1, top: [] }] }) as const
  const text = (of: string) => ({ type: 'text-delta', text: of }) as const
  const rendered =
    chunks.render([token('é'), text('é')], 1) +
    chunks.render([token('a'), text('a')]) +
    chunks.render([token('b'), text('b'), end], 1)
  expect(chunks.ended()).toBe(false)
  const lines = (rendered + chunks.render([end], 0)).split('\n\n').slice(0, -1)
  expect(chunks.ended()).toBe(true)
  expect(lines.at(-1)).toBe('data: [DONE]')
  const sent = lines.slice(0, -1).map((line) => JSON.parse(line.slice(6)).choices[0])
  expect(sent.map((choice) => [choice.index, choice.text, choice.finish_reason])).toEqual([
    [1, 'é', null],
    [0, 'a', null],
    [1, 'b', null],
    [1, '', 'length'],
    [0, '', 'length'],
  ])
  expect(sent.map((choice) => choice.logprobs?.text_offset)).toEqual([[0], [0], [1], undefined, undefined])
})

/** The texts and numbers that vLLM 0.32.0 has sent for the prompt "Hello" with `echo` and `logprobs` 1. */
const HELLO = {
  prompt: [
    { token: 'H', logprob: null, top: [] },
    {
      token: 'el',
      logprob: -7.624619483947754,
      top: [
        { token: 'el', logprob: -7.624619483947754 },
        { token: ' Stra', logprob: -7.624612331390381 },
      ],
    },
    {
      token: 'lo',
      logprob: -7.624616622924805,
      top: [
        { token: 'lo', logprob: -7.624616622924805 },
        { token: 'ameter', logprob: -7.624612331390381 },
      ],
    },
  ],
  output: [
    { token: '', logprob: -7.624613285064697, top: [{ token: '', logprob: -7.624613285064697 }] },
    { token: ' kind', logprob: -7.624611854553223, top: [{ token: ' kind', logprob: -7.624611854553223 }] },
  ],
}

it('an echoed prompt is in the first chunk, with the first token, as in vLLM', () => {
  const chunks = createCompletionChunks(
    createAnswer({ id: '0197-x', model: 'org/demo', options: { logprobs: 1, echo: 'Hello' } }),
  )
  const [first, second] = HELLO.output.map((token) => ({ type: 'token-logprobs', tokens: [token] }) as const)
  const [head, rest] = [HELLO.prompt.slice(0, 2), HELLO.prompt.slice(2)]
  // The list of a long prompt comes in several events.
  expect(chunks.render([{ type: 'prompt-logprobs', first: 0, tokens: head }])).toBe('')
  const rendered = [
    chunks.render([
      { type: 'prompt-logprobs', first: 2, tokens: rest },
      ...(first === undefined ? [] : [first]),
    ]),
    chunks.render([
      ...(second === undefined ? [] : [second]),
      { type: 'text-delta', text: '\uFFFD\uFFFD kind' },
    ]),
  ].map((line) => JSON.parse(line.slice(6)).choices[0])
  expect(rendered).toEqual([
    {
      index: 0,
      text: 'Hello',
      logprobs: {
        text_offset: [0, 1, 3, 5],
        token_logprobs: [null, -7.624619483947754, -7.624616622924805, -7.624613285064697],
        tokens: ['H', 'el', 'lo', ''],
        top_logprobs: [
          null,
          { el: -7.624619483947754, ' Stra': -7.624612331390381 },
          { lo: -7.624616622924805, ameter: -7.624612331390381 },
          { '': -7.624613285064697 },
        ],
      },
      finish_reason: null,
    },
    {
      index: 0,
      text: '\uFFFD\uFFFD kind',
      logprobs: {
        text_offset: [5],
        token_logprobs: [-7.624611854553223],
        tokens: [' kind'],
        top_logprobs: [{ ' kind': -7.624611854553223 }],
      },
      finish_reason: null,
    },
  ])
})

it('a prompt is echoed without log probabilities and without output, too', () => {
  const open = () =>
    createCompletionChunks(
      createAnswer({ id: '0197-x', model: 'org/demo', options: { logprobs: null, echo: 'Hi' } }),
    )
  const textsOf = (text: string) =>
    text
      .split('\n\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)).choices[0].text)
  const usage = { promptTokens: 5, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }
  expect(textsOf(open().render([{ type: 'generation-end', finishReason: 'length', usage }]))).toEqual([
    'Hi',
    '',
  ])
  const chunks = open()
  expect(textsOf(chunks.render([{ type: 'text-delta', text: ' you' }]))).toEqual(['Hi you'])
  expect(textsOf(chunks.render([{ type: 'text-delta', text: '!' }]))).toEqual(['!'])
})

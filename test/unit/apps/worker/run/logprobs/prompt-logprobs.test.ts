import { expect, it } from 'vitest'
import { describePromptLogprobs } from '#apps/worker/run/logprobs/prompt-logprobs.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'

const tokenizer = await loadTokenizer('models/tiny')

/** The engine's numbers for a prompt: token `at` has the log probability -at. */
const listOf = (ids: ArrayLike<number>) =>
  Array.from(ids, (id, at) =>
    at === 0
      ? { logprob: null, topIds: [], topLogprobs: [] }
      : { logprob: -at, topIds: [id, 39], topLogprobs: [-at, -Infinity] },
  )

const describePrompt = (promptIds: Uint32Array, promptLogprobs = listOf(promptIds)) =>
  describePromptLogprobs({ promptLogprobs }, { tokenizer, promptIds })

it('each token of a prompt has its text and its log probability, but for the first', async () => {
  const [event, ...others] = describePrompt(await tokenizer.encode('Hello 🌾!'))
  expect(others).toEqual([])
  expect(event?.first).toBe(0)
  expect(event?.tokens.map(({ token }) => token).join('')).toBe('Hello 🌾!')
  expect(event?.tokens.slice(0, 2)).toEqual([
    { token: 'H', logprob: null, top: [] },
    {
      token: 'el',
      logprob: -1,
      top: [
        { token: 'el', logprob: -1 },
        { token: 'H', logprob: -9_999 },
      ],
    },
  ])
})

it('a first token that is a part of a character is decoded by itself, as in vLLM', async () => {
  const ids = await tokenizer.encode('🌾')
  expect(ids.length).toBeGreaterThan(1)
  const tokens = describePrompt(ids)[0]?.tokens.map(({ token }) => token)
  // vLLM does not know the first token when it reads the others, so no later token completes the character.
  expect(tokens).toEqual(['\uFFFD', ...Array.from({ length: ids.length - 1 }, () => '')])
})

it('a long list is divided into events of bounded size', async () => {
  const ids = new Uint32Array(2_000).fill(39)
  const events = describePrompt(ids)
  expect(events.map(({ first, tokens }) => [first, tokens.length])).toEqual([
    [0, 682],
    [682, 682],
    [1_364, 636],
  ])
})

it.each([
  ['none at all', []],
  ['one too few', listOf([1, 2])],
  ['one without a number', [...listOf([1, 2]), { logprob: null, topIds: [], topLogprobs: [] }]],
  ['one that is not a number', [...listOf([1, 2]), { logprob: NaN, topIds: [], topLogprobs: [] }]],
])('an engine that sends %s has failed', (_name, list) => {
  expect(() => describePrompt(Uint32Array.of(1, 2, 3), list)).toThrow('without its log probabilities')
})

import { expect, test } from 'vitest'
import { createTokenizeInputs } from '#apps/worker/run/embedding/tokenize-inputs.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'

const tokenizer = await loadTokenizer('models/tiny')
const tokenizeInputs = createTokenizeInputs(tokenizer)
const limits = { contextWindow: 8, signal: new AbortController().signal }

test('inputs are counted exactly, each by itself, and the longest of them', async () => {
  const inputs = [await tokenizer.encode('Hello, Hello'), await tokenizer.encode(' world')]
  expect(await tokenizeInputs(['Hello, Hello', ' world'], limits)).toEqual({
    status: 'tokenized',
    inputs,
    tokens: inputs.reduce((sum, ids) => sum + ids.length, 0),
    longest: inputs[0]?.length,
  })
})

test('an input above the context window is refused with its index and both numbers; one that fills it is not', async () => {
  const full = '!'.repeat(8)
  expect(await tokenizer.encode(full)).toHaveLength(8)
  expect(await tokenizeInputs(['Hello', full], limits)).toMatchObject({ status: 'tokenized' })
  expect(await tokenizeInputs(['Hello', `${full}!`], limits)).toEqual({
    status: 'refused',
    error: {
      code: 'context_length_exceeded',
      message:
        "The input at index 1 is too long: 9 tokens > 8 maximum. It exceeds the context window. This model's " +
        'maximum context length is 8 tokens; the input at index 1 has 9.',
    },
  })
})

test('a caller who left is not tokenized for any longer', async () => {
  let encoded = 0
  const counting = createTokenizeInputs({
    async encodeWhole() {
      encoded += 1
      return Uint32Array.of(1)
    },
  })
  await counting(['a', 'b'], { ...limits, signal: AbortSignal.abort() })
  expect(encoded).toBe(0)
})

test('an input of which the tokenizer leaves nothing is refused', async () => {
  const empty = createTokenizeInputs({ encodeWhole: async () => new Uint32Array(0) })
  expect(await empty(['\u200B'], limits)).toMatchObject({
    status: 'refused',
    error: { code: 'invalid_request', message: expect.stringContaining('index 0') },
  })
})

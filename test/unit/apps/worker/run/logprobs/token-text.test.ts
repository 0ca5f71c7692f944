import { expect, test } from 'vitest'
import { toTokenText } from '#apps/worker/run/logprobs/token-text.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'

const tokenizer = await loadTokenizer('models/tiny')

async function textsOf(text: string) {
  const ids = Array.from(await tokenizer.encode(text))
  return ids.map((id, at) => toTokenText(tokenizer, id, ids.slice(Math.max(0, at - 4), at)))
}

test('a token that is whole characters has its own text', async () => {
  expect(await textsOf('Hello')).toEqual(['H', 'el', 'lo'])
})

test('the tokens of one character are empty up to the last one, which has the character', async () => {
  const texts = await textsOf('a 🌾b')
  expect(texts.join('')).toBe('a 🌾b')
  expect(texts.filter((text) => text === '')).not.toEqual([])
  expect(texts.join('|')).not.toContain('\uFFFD')
})

test('the beginning of a character stays empty behind other text', async () => {
  const [first = 0] = await tokenizer.encode('🌾')
  const before = Array.from(await tokenizer.encode('one two'))
  expect(toTokenText(tokenizer, first, before)).toBe('')
})

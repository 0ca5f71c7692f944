import { expect, test } from 'vitest'
import { embedText } from '#apps/simulator/embed-text.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'

const tokenizer = await loadTokenizer('models/tiny')

async function vectorOf(text: string): Promise<Float32Array> {
  return embedText(await tokenizer.encode(text), 256)
}

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)
}

test('a vector has length one and is the same each time', async () => {
  const vector = await vectorOf('The cat sat on the mat.')
  expect(vector).toHaveLength(256)
  expect(cosine(vector, vector)).toBeCloseTo(1, 5)
  expect(await vectorOf('The cat sat on the mat.')).toEqual(vector)
})

test('texts that share words are closer than texts that do not', async () => {
  const cat = await vectorOf('The cat sat on the mat.')
  const near = cosine(cat, await vectorOf('The cat lay on the mat.'))
  const far = cosine(cat, await vectorOf('Quarterly revenue grew by seven percent'))
  expect(near).toBeGreaterThan(0.6)
  expect(far).toBeLessThan(near - 0.3)
})

test('the order of words makes a difference', async () => {
  const there = await vectorOf('from Paris to Rome')
  const back = await vectorOf('from Rome to Paris')
  expect(cosine(there, back)).toBeLessThan(0.999)
})

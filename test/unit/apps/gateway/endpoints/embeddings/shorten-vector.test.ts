import { expect, test } from 'vitest'
import { shortenVector } from '#apps/gateway/endpoints/embeddings/shorten-vector.ts'

test('a shortened vector keeps its direction and has unit length', () => {
  expect(shortenVector(Float32Array.of(3, 4, 12), 2)).toEqual(Float32Array.of(0.6, 0.8))
  expect(shortenVector(Float32Array.of(-0.001, 7), 1)).toEqual(Float32Array.of(-1))
})

test('a vector of the wanted length stays as it is, whatever its length', () => {
  const vector = Float32Array.of(3, 4)
  expect(shortenVector(vector, 2)).toBe(vector)
})

test('zeros have no direction and stay zeros', () => {
  expect(shortenVector(Float32Array.of(0, 0, 1), 2)).toEqual(Float32Array.of(0, 0))
})

import { expect, test } from 'vitest'
import { EmbeddingList } from '#apps/gateway/endpoints/embeddings/embedding-list.ts'
import { toEntry, toList } from '#apps/gateway/endpoints/embeddings/to-list.ts'

const USAGE = { promptTokens: 5, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }

test('base64 contains the little-endian bytes of the vector and no other bytes of its buffer', () => {
  // 1 is 0x3f800000, -2 is 0xc0000000.
  const vector = Float32Array.of(9, 1, -2, 9).subarray(1, 3)
  const bytes = Buffer.from([0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0xc0])
  expect(JSON.parse(toEntry(vector, 3, 'base64'))).toEqual({
    object: 'embedding',
    index: 3,
    embedding: bytes.toString('base64'),
  })
})

test('numbers are read back as the same floats', () => {
  const vector = Float32Array.of(0.1, -1 / 3, 1e-40, 3.4e38)
  expect(Float32Array.from(JSON.parse(toEntry(vector, 0, 'float')).embedding)).toEqual(vector)
})

test('the list is JSON with the requested model and the tokens of all inputs', () => {
  const entries = [toEntry(Float32Array.of(1), 0, 'float'), toEntry(Float32Array.of(0.5), 1, 'base64')]
  expect(EmbeddingList.parse(JSON.parse(toList(entries, 'org/"quoted"', USAGE)))).toEqual({
    object: 'list',
    data: [
      { object: 'embedding', index: 0, embedding: [1] },
      { object: 'embedding', index: 1, embedding: 'AAAAPw==' },
    ],
    model: 'org/"quoted"',
    usage: { prompt_tokens: 5, total_tokens: 5 },
  })
})

import { expect, it } from 'vitest'
import { createPieceCache } from '#libs/tokenizer/encoding/piece-cache.ts'

const ids = (count: number) => new Uint32Array(count)

it('keeps no more bytes than it may, whatever the number of texts', () => {
  const cache = createPieceCache(100_000)
  const texts = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(500, 'x'))
  for (const text of texts) cache.set(text, ids(100))
  const kept = texts.filter((text) => cache.get(text) !== undefined)
  // An entry takes 1,000 bytes of text, 400 bytes of ids, and a fixed overhead.
  expect(kept.length).toBeGreaterThan(40)
  expect(kept.length).toBeLessThanOrEqual(100_000 / 1_400)
})

it('forgets first what was not used for longest', () => {
  const cache = createPieceCache(40_000)
  cache.set('shared', ids(4))
  for (let i = 0; i < 1_000; i += 1) {
    cache.set(`question ${i}`, ids(100))
    expect(cache.get('shared')).toHaveLength(4)
  }
  expect(cache.get('question 0')).toBeUndefined()
})

it('does not keep a text that would displace too many others', () => {
  const cache = createPieceCache(40_000)
  cache.set('shared', ids(4))
  cache.set('x'.repeat(10_000), ids(10))
  expect(cache.get('x'.repeat(10_000))).toBeUndefined()
  expect(cache.get('shared')).toHaveLength(4)
})

it('keeps nothing with 0 bytes', () => {
  const cache = createPieceCache(0)
  cache.set('text', ids(1))
  expect(cache.get('text')).toBeUndefined()
})

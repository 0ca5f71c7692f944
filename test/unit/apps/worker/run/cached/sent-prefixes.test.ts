import { expect, test } from 'vitest'
import { BLOCK_TOKENS, createSentPrefixes, type SentPrefixes } from '#apps/worker/run/cached/sent-prefixes.ts'

const ids = (count: number, from = 0) => Uint32Array.from({ length: count }, (_, i) => from + i)

async function knownOf(sent: SentPrefixes, tenant: string | null, prompt: Uint32Array): Promise<number> {
  return (await sent.note(tenant, prompt)).knownTokens
}

test('a prompt is known up to the last full block that its tenant has sent, and to nobody else', async () => {
  const sent = createSentPrefixes()
  const prompt = ids(5 * BLOCK_TOKENS + 3)
  expect(await knownOf(sent, 'a', prompt)).toBe(0)
  expect(await knownOf(sent, 'b', prompt)).toBe(0)
  expect(await knownOf(sent, 'a', prompt)).toBe(5 * BLOCK_TOKENS)
  const other = Uint32Array.from(prompt)
  other[2 * BLOCK_TOKENS + 1] = 999
  expect(await knownOf(sent, 'a', other)).toBe(2 * BLOCK_TOKENS)
  expect(await knownOf(sent, 'a', prompt.subarray(0, BLOCK_TOKENS - 1))).toBe(0)
})

test('the same block after another beginning is another one', async () => {
  const sent = createSentPrefixes()
  await sent.note('a', ids(2 * BLOCK_TOKENS))
  expect(await knownOf(sent, 'a', ids(BLOCK_TOKENS, BLOCK_TOKENS))).toBe(0)
})

test('what the engine gave is known as a part of the next prompt', async () => {
  const sent = createSentPrefixes()
  const whole = ids(4 * BLOCK_TOKENS)
  const prompt = whole.subarray(0, BLOCK_TOKENS + 5)
  const { push } = await sent.note('a', prompt)
  for (const id of whole.subarray(prompt.length)) push([id])
  expect(await knownOf(sent, 'a', whole)).toBe(4 * BLOCK_TOKENS)
  expect(await knownOf(sent, 'b', whole)).toBe(0)
})

test('a prompt of many turns is known like a short one', async () => {
  const sent = createSentPrefixes()
  const prompt = ids(100_000)
  expect(await knownOf(sent, 'a', prompt)).toBe(0)
  expect(await knownOf(sent, 'a', prompt)).toBe(100_000)
})

test('only so many blocks are remembered: the longest unused are forgotten, a prompt’s end before its beginning', async () => {
  const sent = createSentPrefixes({ mostBlocks: 4 })
  const first = ids(3 * BLOCK_TOKENS)
  await sent.note('a', first)
  await sent.note('a', ids(2 * BLOCK_TOKENS, 1_000))
  expect(await knownOf(sent, 'a', first)).toBe(2 * BLOCK_TOKENS)
  await sent.note('b', ids(100 * BLOCK_TOKENS, 5_000))
  expect(await knownOf(sent, 'a', first)).toBe(0)
})

test('where all share what is cached, the engine’s count stands', async () => {
  expect(await knownOf(createSentPrefixes(), null, ids(100))).toBe(Number.POSITIVE_INFINITY)
})

test.each(['a', null])('known tokens of tenant %s are counted without a note', async (tenant) => {
  const sent = createSentPrefixes()
  const prompt = ids(40_000)
  expect(await sent.countKnown(tenant, prompt)).toBe(0)
  expect(await sent.countKnown(tenant, prompt)).toBe(0)
  await sent.note(tenant, prompt.subarray(0, 30_000))
  expect(await sent.countKnown(tenant, prompt)).toBe(30_000)
  expect(await sent.countKnown('b', prompt)).toBe(0)
})

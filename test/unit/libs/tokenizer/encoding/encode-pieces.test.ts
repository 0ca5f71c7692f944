import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Encoder } from '#libs/tokenizer/encoding/encoder.ts'
import { createEncodePieces } from '#libs/tokenizer/encoding/encode-pieces.ts'
import { openNativeEncoder } from '#libs/tokenizer/encoding/native-encoder.ts'
import { createPieceCache } from '#libs/tokenizer/encoding/piece-cache.ts'
import { parseTokenizerFile, type TokenizerFile } from '#libs/tokenizer/tokenizer-file.ts'
import { runs } from '#test/support/long.ts'
import { referenceTexts, referenceTokenizers } from '../reference-tokenizers.ts'

const tiny = parseTokenizerFile(readFileSync('models/tiny/tokenizer.json', 'utf8'))

/**
 * Added tokens of every kind that a tokenizer.json can have. They overlap, contain blanks, or include the blanks beside
 * them.
 */
const UNUSUAL = [
  { content: '<|a|>' },
  { content: '<|a|><|b|>' },
  { content: '|><|c' },
  { content: '<|left|>', lstrip: true },
  { content: '<|right|>', rstrip: true },
  { content: ' blank ' },
  { content: '  ' },
  { content: '<|text|>', normalized: true },
  { content: '<|a|><|x', normalized: true },
  { content: '\u{1F9FF}\u{1F9FF}' },
]
const WORD = { content: 'zqzq', single_word: true }

const KINDS = [
  ...referenceTokenizers.map(({ kind, file }) => ({ kind, file })),
  { kind: 'tiny', file: tiny },
  { kind: 'tiny with unusual tokens', file: withTokens(tiny, UNUSUAL) },
  { kind: 'tiny with a token that must be a word', file: withTokens(tiny, [...UNUSUAL, WORD]) },
  ...referenceTokenizers.map(({ kind, file }) => ({
    kind: `${kind} with unusual tokens`,
    file: withTokens(file, UNUSUAL),
  })),
]

describe.for(KINDS)('$kind', async ({ file }) => {
  const encoder = await openNativeEncoder(file)
  const note = () => {}
  const tokens = file.addedTokens.map(({ content }) => content)
  const part = fc.oneof(
    fc.constantFrom(...tokens),
    fc.constantFrom(...tokens).map((token) => token.slice(0, -1)),
    fc.constantFrom(...tokens).map((token) => token.slice(1)),
    fc.constantFrom('<|right|> blank ', ' blank <|left|>'),
    fc.constantFrom(' ', '  ', '\n', 'word', 'a', '\uD800', 'é', '\u{1F600}'),
    fc.constantFrom(...referenceTexts),
    fc.string({ maxLength: 8 }),
  )
  const piece = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''))

  it('gives a text the ids that the library gives the whole, with and without a cache', async () => {
    const cached = createEncodePieces({ file, encoder, cache: createPieceCache(100_000), note })
    const uncached = createEncodePieces({ file, encoder, cache: createPieceCache(0), note })
    await fc.assert(
      fc.asyncProperty(piece, async (text) => {
        const [whole = new Uint32Array(0)] = await encoder.encode([text], { whole: false })
        expect(await cached([text])).toEqual(whole)
        expect(await cached([text])).toEqual(whole)
        expect(await uncached([text])).toEqual(whole)
      }),
      { numRuns: runs(60, 300) },
    )
  })

  it('gives pieces the ids that each has after a special token', async () => {
    const cached = createEncodePieces({ file, encoder, cache: createPieceCache(20_000), note })
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 4 }), async (pieces) => {
        expect(await cached(pieces)).toEqual(await encodeOneByOne(file, encoder, pieces))
      }),
      { numRuns: runs(20, 100) },
    )
  })
})

it('encodes a text that prompts share once, and finds it again between other texts', async () => {
  const file = tiny
  const native = await openNativeEncoder(file)
  const encoded: string[] = []
  const encoder: Encoder = {
    async encode(texts, options) {
      encoded.push(...texts)
      return await native.encode(texts, options)
    },
  }
  const notes: object[] = []
  const encodePieces = createEncodePieces({
    file,
    encoder,
    cache: createPieceCache(100_000),
    note: (texts) => notes.push(texts),
  })
  const prompt = (question: string) =>
    `<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`
  await encodePieces([prompt('one')])
  await encodePieces([prompt('two')])
  expect(encoded).toEqual(['system\nBe brief.', '\n', 'user\none', 'assistant\n', 'user\ntwo'])
  expect(notes).toEqual([
    { cached: 0, encoded: 4 },
    { cached: 3, encoded: 1 },
  ])
})

function withTokens(file: TokenizerFile, added: readonly { content: string }[]): TokenizerFile {
  const json: { added_tokens: object[] } = JSON.parse(file.json)
  const flags = { lstrip: false, rstrip: false, single_word: false, normalized: false, special: true }
  const first = file.tokens.length
  const tokens = added.map((token, i) => ({ id: first + i, ...flags, ...token }))
  return parseTokenizerFile(JSON.stringify({ ...json, added_tokens: [...json.added_tokens, ...tokens] }))
}

/** Encodes piece by piece, in the simplest way: the first piece alone, each other piece after a special token. */
async function encodeOneByOne(file: TokenizerFile, encoder: Encoder, pieces: readonly string[]) {
  const leader = file.addedTokens.find((token) => token.special && !token.rstrip && !token.normalized)
  const ids: number[] = []
  for (const [i, piece] of pieces.filter((text) => text !== '').entries()) {
    const isLed = i > 0 && file.prependsFirst && leader !== undefined
    const [own = []] = await encoder.encode([isLed ? leader.content + piece : piece], { whole: false })
    ids.push(...own.slice(isLed ? 1 : 0))
  }
  return Uint32Array.from(ids)
}

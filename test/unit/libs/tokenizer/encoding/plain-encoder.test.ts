import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Encoder } from '#libs/tokenizer/encoding/encoder.ts'
import { openNativeEncoder } from '#libs/tokenizer/encoding/native-encoder.ts'
import { openPlainEncoder } from '#libs/tokenizer/encoding/plain-encoder.ts'
import { parseTokenizerFile, type TokenizerFile } from '#libs/tokenizer/tokenizer-file.ts'
import { referenceTexts, referenceTokenizers } from '../reference-tokenizers.ts'

const byteLevel = referenceTokenizers.find(({ kind }) => kind === 'byte-level-bpe')
if (byteLevel === undefined) throw new Error('there is no byte-level tokenizer')
const { json } = byteLevel.file

/** How models of these families cut a text into words, as their tokenizer.json has it. */
const PATTERNS: Record<string, readonly string[]> = {
  'GPT-2': [],
  'Llama 3': [
    String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  ],
  'gpt-oss': [
    String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  ],
  'DeepSeek V3': [
    String.raw`\p{N}{1,3}`,
    '[一-龥぀-ゟ゠-ヿ]+',
    String.raw`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` +
      '`' +
      String.raw`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  ],
}

type Changes = {
  readonly model?: object
  readonly normalizer?: object
  readonly pre_tokenizer?: object
  readonly added_tokens?: readonly object[]
}

/** The byte-level tokenizer with other steps. */
function changed({ model, ...changes }: Changes): TokenizerFile {
  const file = JSON.parse(json)
  return parseTokenizerFile(JSON.stringify({ ...file, ...changes, model: { ...file.model, ...model } }))
}

function splitting(patterns: readonly string[]): TokenizerFile {
  const splits = patterns.map((Regex) => ({
    type: 'Split',
    pattern: { Regex },
    behavior: 'Isolated',
    invert: false,
  }))
  const bytes = {
    type: 'ByteLevel',
    add_prefix_space: false,
    trim_offsets: true,
    use_regex: splits.length === 0,
  }
  return changed({ pre_tokenizer: { type: 'Sequence', pretokenizers: [...splits, bytes] } })
}

async function open(file: TokenizerFile) {
  const native = await openNativeEncoder(file)
  return { native, plain: await openPlainEncoder(file, native) }
}

const plainTexts = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ' ',
        '  ',
        '\n',
        '\r\n',
        '\t',
        "'s",
        "'RE",
        ' the',
        'The',
        'HELLO',
        'er',
        ' 2048',
        '...',
        '_',
      ),
      fc.string({ unit: 'grapheme-ascii', maxLength: 12 }),
    ),
  )
  .map((parts) => parts.join(''))

async function expectSameIds(file: TokenizerFile, texts: readonly string[]): Promise<void> {
  const { native, plain } = await open(file)
  const ours = texts.map((text) => plain?.(text) ?? null)
  expect(ours).toEqual(await native.encode(texts, { whole: false }))
}

describe.for(Object.entries(PATTERNS))('words as %s cuts them', ([, patterns]) => {
  it('plain texts have the ids that the library gives them', async () => {
    await expectSameIds(splitting(patterns), fc.sample(plainTexts, 2_000))
  })
})

it('a word that is a token is not merged, where the tokenizer says so', async () => {
  // Its merges give it in four tokens.
  const vocab = { ...JSON.parse(json).model.vocab, Ġzqzq: 600 }
  const file = changed({ model: { vocab, ignore_merges: true }, added_tokens: [] })
  await expectSameIds(file, [' zqzq', 'zqzq', ' zqzq zqzq', ...fc.sample(plainTexts, 500)])
  const { plain } = await open(file)
  expect(plain?.(' zqzq')).toEqual(Uint32Array.of(600))
})

it('merges may be written as one text each', async () => {
  const merges = JSON.parse(json).model.merges.map((pair: readonly string[]) => pair.join(' '))
  await expectSameIds(changed({ model: { merges } }), fc.sample(plainTexts, 500))
})

it('texts with other characters, with added tokens or of great length are left to the library', async () => {
  const { plain } = await open(byteLevel.file)
  const left = ['naïve', 'a\u0000b', 'a <think> b', 'x'.repeat(65), 'word '.repeat(820)]
  expect(left.map((text) => plain?.(text))).toEqual(left.map(() => null))
  expect(plain?.(`${'x'.repeat(64)} `)).not.toBeNull()
  expect(plain?.('word '.repeat(819))).not.toBeNull()
})

it('of hostile texts it encodes some, and those as Python does', async () => {
  const { plain } = await open(byteLevel.file)
  const ours = referenceTexts.map((text) => plain?.(text) ?? null)
  expect(ours.filter((ids) => ids !== null).length).toBeGreaterThan(30)
  for (const [i, ids] of ours.entries()) {
    if (ids !== null) expect([...ids]).toEqual(byteLevel.reference.texts[i]?.ids)
  }
})

describe('another kind of tokenizer is left to the library:', () => {
  it.for(referenceTokenizers.filter(({ kind }) => kind !== 'byte-level-bpe'))('$kind', async ({ file }) => {
    const { plain } = await open(file)
    expect(plain).toBeNull()
  })

  const byteStep = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  it.for<[string, Changes]>([
    ['a normalizer that changes ASCII', { normalizer: { type: 'Lowercase' } }],
    ['a prefix space', { pre_tokenizer: { ...byteStep, add_prefix_space: true } }],
    ['random merges', { model: { dropout: 0.1 } }],
    ['marks at the end of words', { model: { end_of_word_suffix: '</w>' } }],
    [
      'words cut in another way',
      {
        pre_tokenizer: {
          type: 'Sequence',
          pretokenizers: [{ type: 'Digits', individual_digits: true }, byteStep],
        },
      },
    ],
    [
      'a pattern that JavaScript lacks',
      {
        pre_tokenizer: {
          type: 'Sequence',
          pretokenizers: [
            {
              type: 'Split',
              pattern: { Regex: String.raw`\p{L}++|\s+` },
              behavior: 'Isolated',
              invert: false,
            },
            { ...byteStep, use_regex: false },
          ],
        },
      },
    ],
  ])('%s', async ([, changes]) => {
    const { plain } = await open(changed(changes))
    expect(plain).toBeNull()
  })
})

it('a tokenizer whose library gives a probe other ids is left to the library', async () => {
  const { native, plain } = await open(byteLevel.file)
  expect(plain).not.toBeNull()
  const other: Encoder = {
    async encode(texts, options) {
      const all = await native.encode(texts, options)
      return all.map((ids, i) => (texts[i]?.includes("MILL's/") ? ids.toReversed() : ids))
    },
  }
  expect(await openPlainEncoder(byteLevel.file, other)).toBeNull()
})

import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Encoder } from '#libs/tokenizer/encoding/encoder.ts'
import { openNativeEncoder } from '#libs/tokenizer/encoding/native-encoder.ts'
import { openPlainEncoder } from '#libs/tokenizer/encoding/plain-encoder.ts'
import { parseTokenizerFile, type TokenizerFile } from '#libs/tokenizer/tokenizer-file.ts'
import { runs } from '#test/support/long.ts'
import { referenceTexts, referenceTokenizers } from '../reference-tokenizers.ts'

const byteLevel = referenceTokenizers.find(({ kind }) => kind === 'byte-level-bpe')
if (byteLevel === undefined) throw new Error('there is no byte-level tokenizer')
const { json } = byteLevel.file

/** The patterns with which models of these families cut a text into words, copied from their tokenizer.json. */
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
  readonly normalizer?: object | null | undefined
  readonly pre_tokenizer?: object
  readonly added_tokens?: readonly object[]
}

/** Returns the byte-level tokenizer with these steps changed. */
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

/**
 * Searches random texts and the texts `own` for one that is not plain, or whose ids differ from the library's. Returns
 * it with the seed that finds it again; null if there is none.
 */
async function findDifference(file: TokenizerFile, own: readonly string[] = []): Promise<unknown> {
  const { native, plain } = await open(file)
  const isSame = async (texts: readonly string[]) =>
    isDeepStrictEqual(plain?.(texts), await native.encode(texts, WITHIN))
  for (const text of own) if (!(await isSame([text]))) return { text, ids: plain?.([text]) }
  const random = fc.array(plainTexts, { minLength: 20, maxLength: 40 })
  const { counterexample, seed } = await fc.check(fc.asyncProperty(random, isSame), { numRuns: runs(10, 50) })
  return counterexample === null ? null : { counterexample, seed }
}

const WITHIN = { whole: false }

describe.for(Object.entries(PATTERNS))('words as %s cuts them', ([, patterns]) => {
  it('plain texts have the ids that the library gives them', async () => {
    expect(await findDifference(splitting(patterns))).toBeNull()
  })
})

const wholeWords = { vocab: { ...JSON.parse(json).model.vocab, Ġzqzq: 600 }, ignore_merges: true }

it('a word that is a token is not merged, where the tokenizer says so', async () => {
  const file = changed({ model: wholeWords, added_tokens: [] })
  expect(await findDifference(file, [' zqzq', 'zqzq', ' zqzq zqzq'])).toBeNull()
  const { plain } = await open(file)
  expect(plain?.([' zqzq'])).toEqual([Uint32Array.of(600)])
})

it('an added token is no word of the vocabulary', async () => {
  const { model, added_tokens: added } = JSON.parse(json)
  const token = { ...added[0], id: 607, content: 'Ġzqzq' }
  const changes = { model: { ...model, ignore_merges: true }, added_tokens: [...added, token] }
  expect(await findDifference(changed(changes), [' zqzq'])).toBeNull()
})

it.for([
  ['absent', { normalizer: undefined }],
  ['none', { normalizer: null }],
  ['none in a row', { normalizer: { type: 'Sequence', normalizers: [] } }],
  ['two in a row', { normalizer: { type: 'Sequence', normalizers: [{ type: 'NFD' }, { type: 'NFKC' }] } }],
] as const)('normalizers that leave ASCII as it is: %s', async ([, changes]) => {
  expect(await findDifference(changed(changes))).toBeNull()
})

it('merges may be written as one text each', async () => {
  const merges = JSON.parse(json).model.merges.map((pair: readonly string[]) => pair.join(' '))
  expect(await findDifference(changed({ model: { merges } }))).toBeNull()
})

it('texts with other characters, with added tokens or of great length are left to the library', async () => {
  const { plain } = await open(byteLevel.file)
  const left = ['naïve', 'a\u0000b', 'a <think> b', 'x'.repeat(65), 'word '.repeat(820)]
  expect(left.map((text) => plain?.([text]))).toEqual(left.map(() => null))
  expect(plain?.([`${'x'.repeat(64)} `])).not.toBeNull()
  expect(plain?.(['word '.repeat(819)])).not.toBeNull()
})

it('many texts that are long together, or of which one is not plain, are left to the library', async () => {
  const { plain } = await open(byteLevel.file)
  const texts = (count: number) => Array.from({ length: count }, () => 'four')
  expect(plain?.(texts(1_024))).toHaveLength(1_024)
  expect(plain?.(texts(1_025))).toBeNull()
  expect(plain?.([...texts(3), 'naïve'])).toBeNull()
})

it('a text in which the library finds an added token after normalizing it is left to the library', async () => {
  const token = {
    ...JSON.parse(json).added_tokens[0],
    id: 607,
    content: 'ﬁxy',
    special: false,
    normalized: true,
  }
  const file = changed({
    normalizer: { type: 'NFKC' },
    added_tokens: [...JSON.parse(json).added_tokens, token],
  })
  const { native, plain } = await open(file)
  expect(await native.encode(['fixy'], WITHIN)).toEqual([Uint32Array.of(607)])
  expect(plain?.(['fixy'])).toBeNull()
})

it('of hostile texts it encodes some, and those as Python does', async () => {
  const { plain } = await open(byteLevel.file)
  const ours = referenceTexts.map((text) => plain?.([text])?.[0] ?? null)
  expect(ours.filter((ids) => ids !== null).length).toBeGreaterThan(30)
  const expected = byteLevel.reference.texts.map(({ ids }, i) => (ours[i] === null ? null : ids))
  expect(ours.map((ids) => (ids === null ? null : [...ids]))).toEqual(expected)
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
      'added tokens in most texts',
      { added_tokens: [{ ...JSON.parse(json).added_tokens[0], id: 68, content: 'e' }] },
    ],
  ])('%s', async ([, changes]) => {
    const { plain } = await open(changed(changes))
    expect(plain).toBeNull()
  })
})

describe('a pattern that JavaScript lacks or reads differently is left to the library:', () => {
  it.for([
    ['possessive', String.raw`\p{L}++|\s+`],
    ['the end of a line', String.raw`\s+the$|\s+|\w+|\W`],
    ['its beginning', String.raw`^\w|\s+|\w+|\W`],
    ['any character', String.raw`\w.|\s+|\W`],
    ['options', String.raw`(?m:the\W)|\s+|\w+|\W`],
    ['an intersection', String.raw`[a-z&&e]+|\s+|\w+|\W`],
    ['a lazy number', String.raw`\w{3}?|\s+|\w+|\W`],
  ] as const)('%s', async ([, pattern]) => {
    const { plain } = await open(splitting([pattern]))
    expect(plain).toBeNull()
  })

  it('escaped, and in a class, the same characters are plain', async () => {
    expect(
      await findDifference(splitting([String.raw`\.\$|[.$^]+|\p{L}{2}|\p{N}?\s+|\w+|\W`]), ['a.$', 'b $^.']),
    ).toBeNull()
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

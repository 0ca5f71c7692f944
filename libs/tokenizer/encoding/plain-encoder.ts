import { z } from 'zod'
import { CHARACTER_OF_BYTE } from '../byte-alphabet.ts'
import type { TokenizerFile } from '../tokenizer-file.ts'
import type { Encoder } from './encoder.ts'
import { createMergeTable, type MergeTable } from './merge-table.ts'

/** Returns the ids of short ASCII texts; null if all of them are left to the library. */
export type PlainEncoder = (texts: readonly string[]) => Uint32Array[] | null

/**
 * The most characters that one call encodes, in all its texts together. This many characters block other streams for
 * 0.3 ms, or for 0.6 ms if the ids of no word are kept yet (`npm run bench:encoding`).
 */
const MOST_CHARACTERS = 4_096
/** The longest word that is merged here: the time of merging grows with the square of the word's length. */
const LONGEST_WORD = 64
/**
 * The most characters of a word whose ids are kept for later texts. V8 stores a longer part of a text as a reference to
 * the whole text, so the whole text would stay in memory as long as the word.
 */
const LONGEST_KEPT_WORD = 12
const MOST_KEPT_WORDS = 16_384

/**
 * Opens an encoder of short plain texts that runs on this thread, for a tokenizer that is a byte-level BPE, as the
 * tokenizers of most models are. Most texts are short: in most prompts only the last message must be encoded, because
 * the ids of the rest are in the cache. For one line of text the native library needs seven times the CPU time of this
 * encoder, because each call of the library goes through a thread (`npm run bench:encoding`).
 *
 * Only ASCII is encoded here. For other text, this encoder and the library could differ, because they may use different
 * versions of Unicode and of its normal forms. Returns null in these cases:
 * - The tokenizer is of another kind.
 * - It has a pattern that JavaScript lacks or reads differently.
 * - A probe gets other ids here than from `native`.
 * - The share of the probes that can be encoded here is below `EXAMINED`.
 */
export async function openPlainEncoder(file: TokenizerFile, native: Encoder): Promise<PlainEncoder | null> {
  const encode = createPlainEncoder(file)
  if (encode === null) return null
  const probes = createProbes()
  const ids = probes.map((text) => encode([text])?.[0])
  const expected = await native.encode(probes, { whole: false })
  const isSame = ids.every((ours, i) => ours === undefined || ours.join() === expected[i]?.join())
  const examined = ids.filter((ours) => ours !== undefined).length
  return isSame && examined >= probes.length * EXAMINED ? encode : null
}

/** The share of the probes that this encoder must be able to encode. */
const EXAMINED = 0.75

function createPlainEncoder(file: TokenizerFile): PlainEncoder | null {
  const steps = BytePairSteps.safeParse(file.steps)
  if (!steps.success) return null
  const { model, preTokenizer } = steps.data
  const { vocab, merges, ignore_merges: wholeFirst } = model
  const idOf = (token: string) => {
    const id = vocab[token]
    return typeof id === 'number' ? id : undefined
  }
  const patterns = toPatterns(preTokenizer)
  const table = createMergeTable(merges, idOf)
  if (patterns === null || table === null) return null
  const characterIds = CHARACTER_OF_BYTE.map(idOf)
  const wholeId = (word: string) => (wholeFirst ? idOf(toByteText(word)) : undefined)
  const encodeWord = createWordEncoder({ table, characterIds, wholeId })
  const isPlain = createIsPlain(file)

  const encode = (text: string): Uint32Array | null => {
    const all: number[] = []
    for (const word of splitWords(text, patterns)) {
      const ids = encodeWord(word)
      if (ids === null) return null
      for (const id of ids) all.push(id)
    }
    return Uint32Array.from(all)
  }

  return (texts) => {
    const characters = texts.reduce((sum, text) => sum + text.length, 0)
    if (characters > MOST_CHARACTERS || !texts.every(isPlain)) return null
    const all: Uint32Array[] = []
    for (const text of texts) {
      const ids = encode(text)
      if (ids === null) return null
      all.push(ids)
    }
    return all
  }
}

/** Normal forms leave ASCII unchanged. */
const NORMAL_FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const
const NormalForm = z.object({ type: z.enum(NORMAL_FORMS) })

const BytePairSteps = z.object({
  model: z.object({
    type: z.literal('BPE'),
    // `vocab` and `merges` are large, so zod does not check their entries.
    vocab: z.custom<Readonly<Record<string, unknown>>>(
      (vocab) => typeof vocab === 'object' && vocab !== null,
    ),
    merges: z.array(z.unknown()),
    dropout: z.null().optional(),
    continuing_subword_prefix: z.literal('').nullish(),
    end_of_word_suffix: z.literal('').nullish(),
    ignore_merges: z.boolean().default(false),
  }),
  normalizer: z
    .union([NormalForm, z.object({ type: z.literal('Sequence'), normalizers: z.array(NormalForm) })])
    .nullish(),
  preTokenizer: z.array(
    z.discriminatedUnion('type', [
      z.object({
        type: z.literal('Split'),
        pattern: z.object({ Regex: z.string() }),
        behavior: z.literal('Isolated'),
        invert: z.literal(false),
      }),
      z.object({
        type: z.literal('ByteLevel'),
        add_prefix_space: z.literal(false),
        use_regex: z.boolean().default(true),
      }),
    ]),
  ),
})
type PreTokenizer = z.infer<typeof BytePairSteps>['preTokenizer']

/** GPT-2's pattern, which the byte-level step has by itself. */
const OWN_PATTERN = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

/**
 * Returns the patterns of the steps, in the order of the steps. Each pattern splits the parts that the previous pattern
 * has made. Returns null if the last step is not the byte-level step, if JavaScript reads a pattern differently than
 * the native library, or if JavaScript cannot compile a pattern.
 */
function toPatterns(steps: PreTokenizer): RegExp[] | null {
  if (steps.at(-1)?.type !== 'ByteLevel') return null
  const sources = steps.flatMap((step) => {
    if (step.type === 'Split') return [step.pattern.Regex]
    return step.use_regex ? [OWN_PATTERN] : []
  })
  if (sources.some(isReadDifferently)) return null
  try {
    return sources.map((source) => new RegExp(source, 'gu'))
  } catch {
    return null
  }
}

/**
 * Returns true if a pattern has syntax that Oniguruma (the library's engine) and JavaScript read differently: `^` or
 * `$`, `.`, an option other than `i`, a lazy `{n}`, or an intersection of classes.
 */
function isReadDifferently(source: string): boolean {
  const frame = source.replaceAll(/\\[pP]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]/gsu, '')
  return source.includes('&&') || /[.^$]|\}\?|\(\?(?!:|=|!|<=|<!|i:)/u.test(frame)
}

function splitWords(text: string, patterns: readonly RegExp[]): string[] {
  let parts = [text]
  for (const pattern of patterns) parts = parts.flatMap((part) => splitAt(part, pattern))
  return parts
}

/** Returns the matches, and the texts between them. */
function splitAt(text: string, pattern: RegExp): string[] {
  const parts: string[] = []
  let from = 0
  for (const { 0: match, index } of text.matchAll(pattern)) {
    if (index > from) parts.push(text.slice(from, index))
    if (match !== '') parts.push(match)
    from = index + match.length
  }
  if (from < text.length) parts.push(text.slice(from))
  return parts
}

/**
 * Returns a function that returns true if a text consists of printable ASCII characters, tabs and line breaks, and
 * contains none of the added tokens. The native library finds these tokens before it splits the text into words.
 */
function createIsPlain({ addedTokens }: TokenizerFile): (text: string) => boolean {
  // The native library looks for some added tokens in their normalized form.
  const forms = (text: string) => [text, ...NORMAL_FORMS.map((form) => text.normalize(form))]
  const contents = new Set(addedTokens.flatMap(({ content }) => forms(content)).filter((text) => text !== ''))
  if (contents.size === 0) return (text) => PLAIN.test(text)
  const added = new RegExp(Array.from(contents, (content) => RegExp.escape(content)).join('|'), 'u')
  return (text) => PLAIN.test(text) && !added.test(text)
}

const PLAIN = /^[\t\n\r -~]*$/u

/** Words come again and again, so their ids are kept. */
function createWordEncoder(deps: {
  table: MergeTable
  /** The ids of characters, by character code. */
  characterIds: readonly (number | undefined)[]
  /** The id of a word that is not merged from its characters. */
  wholeId: (word: string) => number | undefined
}): (word: string) => readonly number[] | null {
  const { table, characterIds, wholeId } = deps
  const kept = new Map<string, readonly number[]>()

  function encode(word: string): number[] | null {
    const whole = wholeId(word)
    if (whole !== undefined) return [whole]
    const ids: number[] = []
    for (let i = 0; i < word.length; i += 1) {
      const id = characterIds[word.charCodeAt(i)]
      if (id === undefined) return null
      ids.push(id)
    }
    table.merge(ids)
    return ids
  }

  return (word) => {
    const known = kept.get(word)
    if (known !== undefined) return known
    if (word.length > LONGEST_WORD) return null
    const ids = encode(word)
    if (ids === null || word.length > LONGEST_KEPT_WORD) return ids
    if (kept.size === MOST_KEPT_WORDS) kept.clear()
    kept.set(word, ids)
    return ids
  }
}

const toByteText = (word: string): string =>
  Array.from(word, (character) => CHARACTER_OF_BYTE[character.charCodeAt(0)]).join('')

/**
 * Returns texts that contain all pairs of plain characters, and all triples of twelve short parts (blanks, words,
 * numbers, signs).
 */
function createProbes(): string[] {
  const characters = ['\t', '\n', '\r', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))]
  const pairs = characters.map((left) => characters.map((right) => left + right).join(''))
  const parts = [' ', '  ', '\n', '\r\n', '\t', 'The', 'MILL', '2048', "'s", "'LL", '!?', '/']
  const joined = parts.flatMap((first) =>
    parts.map((second) => parts.map((third) => first + second + third).join('')),
  )
  return [...characters, ...pairs, ...joined]
}

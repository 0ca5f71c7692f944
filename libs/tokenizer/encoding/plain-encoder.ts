import { z } from 'zod'
import { CHARACTER_OF_BYTE } from '../byte-alphabet.ts'
import type { TokenizerFile } from '../tokenizer-file.ts'
import type { Encoder } from './encoder.ts'
import { createMergeTable, type MergeTable } from './merge-table.ts'

/** The ids of a short text of ASCII; null for a text that it leaves to the library. */
export type PlainEncoder = (text: string) => Uint32Array | null

/** Other streams wait meanwhile: 0.2 ms, or 0.6 ms where no word is known (`npm run bench:encoding`). */
const MOST_CHARACTERS = 4_096
/** Merging takes the square of a word's length. */
const LONGEST_WORD = 64
/** V8 cuts a longer string by pointing into its text, which would stay in memory with the word. */
const LONGEST_KEPT_WORD = 12
const MOST_KEPT_WORDS = 16_384

/**
 * Encodes short plain texts on this thread, where the tokenizer is a byte-level BPE, as those of most models are. Of most
 * prompts the last message is all that the cache does not have, and the native library needs 0.1 ms of CPU for a line of
 * it, twenty times as much as this, because each of its calls goes through a thread (`npm run bench:encoding`).
 *
 * Only ASCII, where the versions of Unicode and its normal forms make no difference between the two. Null for another
 * kind of tokenizer, for patterns that JavaScript lacks, and where a probe has other ids than with `native`.
 */
export async function openPlainEncoder(file: TokenizerFile, native: Encoder): Promise<PlainEncoder | null> {
  const encode = createPlainEncoder(file)
  if (encode === null) return null
  const probes = createProbes()
  const expected = await native.encode(probes, { whole: false })
  const isSame = probes.every((text, i) => (encode(text) ?? expected[i])?.join() === expected[i]?.join())
  return isSame ? encode : null
}

function createPlainEncoder(file: TokenizerFile): PlainEncoder | null {
  const steps = BytePairSteps.safeParse(file.steps)
  if (!steps.success) return null
  const { model, preTokenizer } = steps.data
  const patterns = toPatterns(preTokenizer)
  const ids = new Map(file.tokens.map((token, id) => [token, id]))
  const table = createMergeTable(model.merges, (token) => ids.get(token))
  if (patterns === null || table === null) return null
  const encodeWord = createWordEncoder({ table, ids, wholeFirst: model.ignore_merges })
  const isPlain = createIsPlain(file)

  return (text) => {
    if (text.length > MOST_CHARACTERS || !isPlain(text)) return null
    const all: number[] = []
    for (const word of splitWords(text, patterns)) {
      const ofWord = encodeWord(word)
      if (ofWord === null) return null
      for (const id of ofWord) all.push(id)
    }
    return Uint32Array.from(all)
  }
}

/** Other normalizers than Unicode's normal forms change ASCII. */
const BytePairSteps = z.object({
  model: z.object({
    type: z.literal('BPE'),
    dropout: z.null().optional(),
    continuing_subword_prefix: z.literal('').nullish(),
    end_of_word_suffix: z.literal('').nullish(),
    ignore_merges: z.boolean().default(false),
    merges: z.array(z.unknown()),
  }),
  normalizer: z.object({ type: z.enum(['NFC', 'NFD', 'NFKC', 'NFKD']) }).nullish(),
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

/** GPT-2's, which the byte-level step has by itself. */
const OWN_PATTERN = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

/** Each cuts the texts that the one before it has left. Null where one of them cannot be used. */
function toPatterns(steps: PreTokenizer): RegExp[] | null {
  if (steps.at(-1)?.type !== 'ByteLevel') return null
  const sources = steps.flatMap((step) => {
    if (step.type === 'Split') return [step.pattern.Regex]
    return step.use_regex ? [OWN_PATTERN] : []
  })
  try {
    return sources.map((source) => new RegExp(source, 'gu'))
  } catch {
    return null
  }
}

function splitWords(text: string, patterns: readonly RegExp[]): string[] {
  let parts = [text]
  for (const pattern of patterns) parts = parts.flatMap((part) => splitAt(part, pattern))
  return parts
}

/** What matches, and what stands between. */
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

/** Neither another character than ASCII's, nor a token that the library finds in a text as written. */
function createIsPlain({ addedTokens }: TokenizerFile): (text: string) => boolean {
  const contents = addedTokens.map(({ content }) => content).filter((content) => content !== '')
  if (contents.length === 0) return (text) => PLAIN.test(text)
  const added = new RegExp(contents.map((content) => RegExp.escape(content)).join('|'), 'u')
  return (text) => PLAIN.test(text) && !added.test(text)
}

const PLAIN = /^[\t\n\r -~]*$/u

/** Words come again and again, so their ids are kept. */
function createWordEncoder(deps: {
  table: MergeTable
  ids: ReadonlyMap<string | undefined, number>
  /** A word that is a token is not merged from its characters, which may give others. */
  wholeFirst: boolean
}): (word: string) => readonly number[] | null {
  const { table, ids: idOf, wholeFirst } = deps
  const characterIds = CHARACTER_OF_BYTE.map((character) => idOf.get(character))
  const kept = new Map<string, readonly number[]>()

  function encode(word: string): number[] | null {
    const whole = wholeFirst ? idOf.get(toByteText(word)) : undefined
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

/** Of all plain characters and kinds of words, each beside each other. */
function createProbes(): string[] {
  const characters = ['\t', '\n', '\r', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))]
  const pairs = characters.map((left) => characters.map((right) => left + right).join(''))
  const parts = [' ', '  ', '\n', '\r\n', '\t', 'The', 'MILL', '2048', "'s", "'LL", '!?', '/']
  const joined = parts.flatMap((first) =>
    parts.map((second) => parts.map((third) => first + second + third).join('')),
  )
  return [...characters, ...pairs, ...joined]
}

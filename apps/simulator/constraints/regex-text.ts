import { CompileError } from './compile-error.ts'
import { ConstraintError } from './constraint-error.ts'
import { DEAD_END } from './dead-end.ts'

/**
 * Returns a text that `pattern` matches as a whole, with the alternative that `variant` selects and the fewest
 * repetitions. Supports the syntax common to Rust's and JavaScript's regular expressions: groups, classes, quantifiers,
 * alternation, anchors (without effect in a whole match). Throws a ConstraintError for anything else.
 */
export function textMatching(pattern: string, variant: number): string {
  const reader: Reader = { pattern: Array.from(pattern), at: 0, variant }
  const text = readAlternatives(reader)
  if (reader.at < reader.pattern.length) fail(reader, 'unopened group')
  return text
}

type Reader = { readonly pattern: readonly string[]; at: number; readonly variant: number }

function readAlternatives(reader: Reader): string {
  const alternatives = [readSequence(reader)]
  while (peek(reader) === '|') {
    reader.at += 1
    alternatives.push(readSequence(reader))
  }
  return alternatives[reader.variant % alternatives.length] ?? ''
}

function readSequence(reader: Reader): string {
  let text = ''
  for (let next = peek(reader); next !== undefined && next !== '|' && next !== ')'; next = peek(reader)) {
    const atom = readAtom(reader)
    const fewest = readFewest(reader)
    if (atom.length * fewest > MAX_TEXT) fail(reader, 'the shortest match is too long')
    text += atom.repeat(fewest)
  }
  return text
}

function readAtom(reader: Reader): string {
  const character = take(reader)
  if (character === '(') return readGroup(reader)
  if (character === '[') return readClass(reader)
  if (character === '\\') return representative(readEscape(reader))
  if (character === '.') return 'a'
  if (character === '^' || character === '$') return ''
  if (character === '*' || character === '+' || character === '?') {
    fail(reader, 'repetition operator missing expression')
  }
  return character
}

function readGroup(reader: Reader): string {
  if (peek(reader) === '?') {
    const opening = /^\?(?::|P?<\w+>)/u.exec(reader.pattern.slice(reader.at).join(''))
    const length = opening?.[0].length ?? fail(reader, 'look-around and flags are not supported')
    reader.at += length
  }
  const text = readAlternatives(reader)
  if (peek(reader) !== ')') fail(reader, 'unclosed group')
  reader.at += 1
  return text
}

/**
 * Reads the quantifier at this place, if there is one. Returns the fewest repetitions that it allows; 1 without a
 * quantifier.
 */
function readFewest(reader: Reader): number {
  const braces = /^\{(\d+)(?:,(\d*))?\}/u.exec(reader.pattern.slice(reader.at, reader.at + 24).join(''))
  const character = peek(reader)
  let fewest = 1
  if (braces !== null) {
    fewest = Number(braces[1])
    if (Math.max(fewest, Number(braces[2] ?? 0)) > MAX_COUNT) throw new CompileError('a count is too high')
    reader.at += braces[0].length
  } else if (character === '*' || character === '?' || character === '+') {
    fewest = character === '+' ? 1 : 0
    reader.at += 1
  } else {
    return 1
  }
  if (peek(reader) === '?') reader.at += 1
  return fewest
}

const MAX_TEXT = 10_000
/** xgrammar 0.2.8 fails on higher counts, as recorded. */
const MAX_COUNT = 128

/** A set of characters: the characters in the ranges or, if negated, all others. */
type CharacterSet = { readonly ranges: readonly (readonly [number, number])[]; readonly negated: boolean }

function readClass(reader: Reader): string {
  const negated = peek(reader) === '^'
  if (negated) reader.at += 1
  const ranges: (readonly [number, number])[] = []
  for (let first = true; first || peek(reader) !== ']'; first = false) {
    if (peek(reader) === undefined) fail(reader, 'unclosed character class')
    const low = readClassMember(reader)
    const isRange = peek(reader) === '-' && reader.pattern[reader.at + 1] !== ']' && low.ranges.length === 1
    if (!isRange) {
      ranges.push(...(low.negated ? complementOf(low.ranges) : low.ranges))
      continue
    }
    reader.at += 1
    const high = readClassMember(reader)
    const from = low.ranges[0]?.[0] ?? 0
    const to = high.ranges[0]?.[0] ?? 0
    if (from > to) fail(reader, 'invalid character class range')
    ranges.push([from, to])
  }
  reader.at += 1
  return representative({ ranges, negated })
}

function complementOf(ranges: CharacterSet['ranges']): (readonly [number, number])[] {
  const sorted = ranges.toSorted(([one], [other]) => one - other)
  const ends = [...sorted.map(([low]) => low - 1), 0x10ffff]
  return ends.map((end, index) => [(sorted[index - 1]?.[1] ?? -1) + 1, end])
}

function readClassMember(reader: Reader): CharacterSet {
  const character = take(reader)
  return character === '\\' ? readEscape(reader) : single(character)
}

function readEscape(reader: Reader): CharacterSet {
  const letter = take(reader)
  const shorthand = SHORTHANDS[letter]
  if (shorthand !== undefined) return shorthand
  const control = CONTROLS[letter]
  if (control !== undefined) return single(control)
  if (letter === 'x' || letter === 'u') {
    const digits = reader.pattern.slice(reader.at, reader.at + (letter === 'x' ? 2 : 4)).join('')
    if (!/^[0-9a-f]+$/iu.test(digits)) fail(reader, 'invalid hexadecimal escape')
    reader.at += digits.length
    return single(String.fromCodePoint(Number.parseInt(digits, 16)))
  }
  if (/[a-zA-Z0-9]/u.test(letter)) fail(reader, `unsupported escape \\${letter}`)
  return single(letter)
}

const DIGITS = [48, 57] as const
const SPACES = [
  [32, 32],
  [9, 13],
] as const
const WORDS = [[97, 122], [65, 90], DIGITS, [95, 95]] as const

const SHORTHANDS: Readonly<Record<string, CharacterSet>> = {
  d: { ranges: [DIGITS], negated: false },
  D: { ranges: [DIGITS], negated: true },
  w: { ranges: WORDS, negated: false },
  W: { ranges: WORDS, negated: true },
  s: { ranges: SPACES, negated: false },
  S: { ranges: SPACES, negated: true },
  b: { ranges: [], negated: false },
}

const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' }

/**
 * Returns the set's first character; for a negated set the first candidate that is not excluded. A set without a
 * character is a dead end.
 */
function representative({ ranges, negated }: CharacterSet): string {
  if (!negated) {
    if (ranges[0] === undefined) return ''
    const character = String.fromCodePoint(ranges[0][0])
    return character.isWellFormed() ? character : DEAD_END
  }
  const outside = (code: number) => !ranges.some(([low, high]) => code >= low && code <= high)
  const code = CANDIDATES.find(outside)
  return code === undefined ? DEAD_END : String.fromCodePoint(code)
}

const CANDIDATES = [
  ...Array.from({ length: 26 }, (_, i) => 97 + i),
  ...Array.from({ length: 94 }, (_, i) => 33 + i),
  32,
  ...Array.from({ length: 256 }, (_, i) => 0x4e00 + i),
  0x10000,
]

function single(character: string): CharacterSet {
  const code = character.codePointAt(0) ?? 0
  return { ranges: [[code, code]], negated: false }
}

function peek(reader: Reader): string | undefined {
  return reader.pattern[reader.at]
}

function take(reader: Reader): string {
  const character = reader.pattern[reader.at] ?? fail(reader, 'unexpected end of pattern')
  reader.at += 1
  return character
}

function fail(reader: Reader, problem: string): never {
  const pattern = reader.pattern.join('')
  throw new ConstraintError(`Grammar error: invalid regex ${JSON.stringify(pattern)}: ${problem}`)
}

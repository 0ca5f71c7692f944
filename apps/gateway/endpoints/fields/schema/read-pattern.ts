import { excludesAll } from './excludes-all.ts'

/** The cost of compiling a regular expression in the engine's grammar library (xgrammar). */
export type ReadPattern = {
  /** The reason why the library cannot compile the pattern, or null. */
  readonly problem: string | null
  /** How many steps the pattern's counted repetitions add. */
  readonly repeated: number
}

/**
 * The highest count of a repetition. With a higher count, the grammar fails in the cache of the engine's grammar
 * library (xgrammar), after the engine has accepted the request.
 */
const MAX_COUNT = 128
/**
 * A counted group may repeat at most this many loose steps (see `Steps`). Measured: with more, compiling the grammar
 * takes minutes.
 */
const MAX_LOOSE = 128

/**
 * The size of a part of the pattern, in steps. In `all`, a step that is repeated n times counts as n steps. `loose`
 * counts only the steps whose number of repetitions is variable.
 */
type Steps = { readonly all: number; readonly loose: number }

/**
 * Reads an ECMA-262 regular expression from left to right. There is no recursion, so groups may nest as deep as the
 * pattern is long. `isInJson`: true if the pattern constrains a string within JSON.
 */
export function readPattern(source: string, { isInJson = true } = {}): ReadPattern {
  const groups: Steps[] = []
  let sum = NONE
  let last = { ...NONE, isGroup: false }
  let plain = 0
  const quantify = (steps: Steps) => {
    sum = { all: sum.all - last.all + steps.all, loose: sum.loose - last.loose + steps.loose }
    last = { ...last, ...steps }
  }
  for (const [text] of source.matchAll(ATOM)) {
    const problem = problemOf(text, isInJson)
    if (problem !== null) return { problem, repeated: 0 }
    const range = countsOf(text)
    if (range !== null) {
      const count = Math.max(range.most, 1)
      if (count > MAX_COUNT) return { problem: TOO_OFTEN, repeated: 0 }
      const ownLoose = range.least === range.most ? 0 : count
      quantify({ all: last.all * count, loose: last.isGroup ? last.loose * count : ownLoose })
      if (last.isGroup && last.loose > MAX_LOOSE) return { problem: TOO_LOOSE, repeated: 0 }
    } else if (/^[*+?]$/.test(text)) {
      quantify({ all: last.all, loose: Math.max(last.loose, 1) })
    } else if (text.startsWith('(')) {
      groups.push(sum)
      sum = NONE
    } else if (text === ')') {
      last = { ...sum, isGroup: true }
      const outer = groups.pop() ?? NONE
      sum = { all: outer.all + sum.all, loose: outer.loose + sum.loose }
    } else if (!/^[|^$]$/.test(text)) {
      last = { all: 1, loose: 0, isGroup: false }
      sum = { ...sum, all: sum.all + 1 }
      plain += 1
    }
  }
  return { problem: null, repeated: sum.all - plain }
}

const NONE: Steps = { all: 0, loose: 0 }
const TOO_OFTEN = `expected at most ${MAX_COUNT} repetitions; minLength and maxLength may count further`
const TOO_LOOSE = `expected counted groups to repeat at most ${MAX_LOOSE} steps whose number is open`

function countsOf(text: string): { least: number; most: number } | null {
  const counts = /^\{(\d+)(,(\d*))?\}$/.exec(text)
  if (counts === null) return null
  const least = Number(counts[1])
  return { least, most: counts[2] === undefined ? least : Math.max(least, Number(counts[3])) }
}

/** One step of a pattern: an escape, a class, the opening of a group, a count, or any other character. */
const ATOM = new RegExp(
  [
    String.raw`\\(?:x[\da-f]{2}|u[\da-f]{4}|u\{[\da-f]+\}|c[a-z]|.)`,
    String.raw`\[(?:\\.|[^\]\\])*\]`,
    String.raw`\((?:\?(?:<[=!]|<\w+>|[=!:]|[-a-z]*:?))?`,
    String.raw`\{\d+(?:,\d*)?\}`,
    '.',
  ].join('|'),
  'gisu',
)

const UNSUPPORTED: readonly (readonly [RegExp, string])[] = [
  [/^\(\?<[=!]$/, 'look-behinds are not supported'],
  [/^\(\?[-a-z]*:?$/, 'flags inside a pattern are not supported'],
  [/^\\[1-9k]/, 'back references are not supported'],
  [/^\\b$/i, String.raw`\b and \B are not supported`],
  [/^\\p$/i, String.raw`\p and \P are not supported`],
  [/^\[.*\\p/is, String.raw`\p and \P are not supported`],
  [/^\[\^?\]$/, 'expected something between [ and ]'],
  [/^\{$/, String.raw`expected a count after {, or \{`],
]

function problemOf(text: string, isInJson: boolean): string | null {
  if (text === '(?:') return null
  const unsupported = UNSUPPORTED.find(([syntax]) => syntax.test(text))
  if (unsupported !== undefined) return unsupported[1]
  if (excludesAll(text)) return 'expected no class that excludes every character'
  return isInJson && isEscapedInJson(text)
    ? 'quotes, backslashes and control characters are not supported'
    : null
}

/**
 * True for a character that must be escaped inside a JSON string. xgrammar puts the characters of a pattern into the
 * JSON without escapes, so this character would end or break the string.
 */
function isEscapedInJson(text: string): boolean {
  if (/^\\[tnvfr0"\\]$/.test(text) || /^\\c/i.test(text)) return true
  const code = /^\\[xu]\{?([\da-f]+)\}?$/i.exec(text)?.[1]
  const character = code === undefined ? text : String.fromCodePoint(Number.parseInt(code, 16) % 0x110000)
  return character.length === 1 && (character < ' ' || character === '"' || character === '\\')
}

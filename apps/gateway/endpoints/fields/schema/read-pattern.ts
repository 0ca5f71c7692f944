/** What the engine's grammar library (xgrammar, whose limits these are) makes of a regular expression. */
export type ReadPattern = {
  /** What it cannot hold an output to, or null. */
  readonly problem: string | null
  /** How many more steps its counted repetitions make of it. */
  readonly repeated: number
}

/** Longer ones fail in the library's cache, after the engine has accepted the request. */
const MAX_COUNT = 128

/**
 * Reads a regular expression of ECMA-262 from left to right. Groups keep their sums on a stack of their own: they
 * may nest as deep as the pattern is long.
 */
export function readPattern(source: string): ReadPattern {
  const atoms = source.matchAll(ATOM)
  const groups: number[] = []
  let sum = 0
  let last = 0
  let plain = 0
  for (const [text] of atoms) {
    const problem = problemOf(text)
    if (problem !== null) return { problem, repeated: 0 }
    const counts = /^\{(\d+)(?:,(\d*))?\}$/.exec(text)
    if (counts !== null) {
      const count = Math.max(Number(counts[1]), Number(counts[2] ?? 0))
      if (count > MAX_COUNT) return { problem: TOO_OFTEN, repeated: 0 }
      sum += last * Math.max(count - 1, 0)
      last *= Math.max(count, 1)
    } else if (text.startsWith('(')) {
      groups.push(sum)
      sum = 0
    } else if (text === ')') {
      last = sum
      sum += groups.pop() ?? 0
    } else if (!/^[*+?|^$]$/.test(text)) {
      last = 1
      sum += 1
      plain += 1
    }
  }
  return { problem: null, repeated: sum - plain }
}

const TOO_OFTEN = `expected at most ${MAX_COUNT} repetitions; minLength and maxLength may count further`

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

const UNSERVED: readonly (readonly [RegExp, string])[] = [
  [/^\(\?<[=!]$/, 'look-behinds are not served'],
  [/^\(\?[-a-z]*:?$/, 'flags inside a pattern are not served'],
  [/^\\[1-9k]/, 'back references are not served'],
  [/^\\b$/i, String.raw`\b and \B are not served`],
  [/^\\p$/i, String.raw`\p and \P are not served`],
  [/^\[.*\\p/is, String.raw`\p and \P are not served`],
  [/^\[\^?\]$/, 'expected something between [ and ]'],
  [/^\{$/, String.raw`expected a count after {, or \{`],
]

function problemOf(text: string): string | null {
  if (text === '(?:') return null
  const unserved = UNSERVED.find(([syntax]) => syntax.test(text))
  if (unserved !== undefined) return unserved[1]
  return isEscapedInJson(text) ? 'quotes, backslashes and control characters are not served' : null
}

/** The library writes a pattern's characters into the JSON as they are: these would end or break the string. */
function isEscapedInJson(text: string): boolean {
  if (/^\\[tnvfr0"\\]$/.test(text) || /^\\c/i.test(text)) return true
  const code = /^\\[xu]\{?([\da-f]+)\}?$/i.exec(text)?.[1]
  const character = code === undefined ? text : String.fromCodePoint(Number.parseInt(code, 16) % 0x110000)
  return character.length === 1 && (character < ' ' || character === '"' || character === '\\')
}

/**
 * Returns whether a class of a pattern or a grammar, such as `[^\s\S]`, has no character. The grammar library (xgrammar)
 * compiles such a class, and a generation that arrives at it has no token to choose. The class is read as that library
 * reads it: `\x` takes all hexadecimal digits that follow, and `\s` is the `\s` of ECMA-262.
 */
export function excludesAll(text: string): boolean {
  if (!text.startsWith('[^')) return text === '[]'
  // Half of a surrogate pair is no character.
  let excluded = String.raw`\ud800-\udfff`
  const starts = [...STARTS]
  for (const { groups: { set, first = '', last = first } = {} } of text.slice(2, -1).matchAll(MEMBER)) {
    const [low, high] = [toCode(first), toCode(last)]
    if (low > high) return false
    excluded += set ?? `\\u{${low.toString(16)}}-\\u{${high.toString(16)}}`
    starts.push(high + 1)
  }
  const others = new RegExp(`[^${excluded}]`, 'u')
  return !starts.some((code) => code <= LAST && others.test(String.fromCodePoint(code)))
}

const LAST = 0x10ffff
/** The first character that may be left, after a range of the class, is one of these or follows the range. */
const STARTS = [
  // The first one, and the one after the surrogates.
  0, 0xe000,
  // At the ends of `\d` and `\w`.
  0x30, 0x3a, 0x41, 0x5b, 0x5f, 0x60, 0x61, 0x7b,
  // At the ends of the ranges of `\s`.
  0x9, 0xe, 0x20, 0x21, 0xa0, 0xa1, 0x1680, 0x1681, 0x2000, 0x200b, 0x2028, 0x202a, 0x202f, 0x2030, 0x205f,
  0x2060, 0x3000, 0x3001, 0xfeff, 0xff00,
]

const HEX = String.raw`[\da-fA-F]`
/** A character; a surrogate pair is one. */
const CHARACTER =
  String.raw`\\u[dD][89abAB]${HEX}{2}\\u[dD][c-fC-F]${HEX}{2}|` +
  String.raw`\\x${HEX}+|\\u\{${HEX}+\}|\\u${HEX}{4}|\\U${HEX}{8}|\\[^dswDSW]|[^\\]`
const MEMBER = new RegExp(
  String.raw`(?<set>\\[dswDSW])|(?<first>${CHARACTER})(?:-(?<last>${CHARACTER}))?`,
  'gsu',
)

const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 }

function toCode(character: string): number {
  const [code, low] = [...character.matchAll(/\\[xuU]\{?([\da-fA-F]+)/g)].map(([, digits = '']) =>
    Math.min(Number.parseInt(digits, 16), LAST),
  )
  if (low !== undefined) return String.fromCharCode(code ?? 0, low).codePointAt(0) ?? 0
  const own = character.replace(/^\\(?=.)/s, '')
  return code ?? (own === character ? undefined : CONTROLS[own]) ?? own.codePointAt(0) ?? 0
}

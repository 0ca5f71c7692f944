/**
 * Returns whether a class of a pattern or a grammar, such as `[^\s\S]`, has no character. The grammar library (xgrammar)
 * compiles such a class, and a generation that arrives at it has no token to choose. The class is read as that library
 * reads it: `\x` takes all hexadecimal digits that follow, and `\s` is the `\s` of ECMA-262.
 */
export function excludesAll(text: string): boolean {
  if (!text.startsWith('[^')) return text === '[]'
  const members = [...text.slice(2, -1).matchAll(MEMBER)].map(([member]) => toRanges(member))
  const ranges: Range[] = []
  for (let at = 0; at < members.length; at += 1) {
    const low = members[at] ?? []
    const [first, dash, last] = [low, members[at + 1], members[at + 2]].map(toCode)
    const isRange = first != null && dash === DASH && last != null
    if (isRange) at += 2
    ranges.push(...(isRange ? [[first, last] as const] : low))
  }
  let from = 0
  for (const [first, last] of ranges.toSorted(([one], [other]) => one - other)) {
    if (first > from) return false
    from = Math.max(from, last + 1)
    // Half of a surrogate pair is no character.
    if (from >= 0xd800 && from <= 0xdfff) from = 0xe000
  }
  return from > LAST
}

type Range = readonly [first: number, last: number]

const LAST = 0x10ffff
const DASH = 45

/** An escape, with a surrogate pair as one character, or any other character. */
const MEMBER =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\(?:x[\da-fA-F]+|u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|.)|./gsu

const SETS: Readonly<Record<string, readonly Range[]>> = {
  d: [[48, 57]],
  s: [
    [9, 13],
    ...[0x20, 0xa0, 0x1680].flatMap(toOne),
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    ...[0x202f, 0x205f, 0x3000, 0xfeff].flatMap(toOne),
  ],
  w: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
}

const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 }

function toRanges(member: string): readonly Range[] {
  if (!member.startsWith('\\') || member.length === 1) return toOne(member.codePointAt(0) ?? 0)
  const letter = member.charAt(1)
  const set = SETS[letter.toLowerCase()]
  if (set !== undefined) return letter === letter.toLowerCase() ? set : complementOf(set)
  const codes = [...member.matchAll(/[xuU]\{?([\da-fA-F]+)/g)].map(([, digits]) =>
    Number.parseInt(digits ?? '', 16),
  )
  const [code, low] = codes
  if (code === undefined) return toOne(CONTROLS[letter] ?? letter.codePointAt(0) ?? 0)
  return toOne(low === undefined ? code : 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00))
}

function toOne(code: number): readonly Range[] {
  return [[code, code]]
}

/** Returns the code of a member that is one character; null for a set. */
function toCode(ranges: readonly Range[] | undefined): number | null {
  const [first, ...others] = ranges ?? []
  return first !== undefined && others.length === 0 && first[0] === first[1] ? first[0] : null
}

/** The ranges of `set` are in order. */
function complementOf(set: readonly Range[]): readonly Range[] {
  const starts = [0, ...set.map(([, last]) => last + 1)]
  const ends = [...set.map(([first]) => first - 1), LAST]
  return starts.map((start, index) => [start, ends[index] ?? LAST])
}

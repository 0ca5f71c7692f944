import type { AddedToken } from '#libs/tokenizer/tokenizer.ts'

/** The tokens that a text must not contain: all markers, or only special tokens. */
export type GuardedTokens = 'all' | 'special'

export type TokenGuard = {
  /** Makes a caller's text safe to pass through a template. */
  readonly guardText: (text: string, tokens: GuardedTokens) => string
  /** Guards every string and key of a JSON value. Throws a RangeError above `MAX_DEPTH` levels. */
  readonly guardJson: (value: unknown) => unknown
  /** Splits a prompt rendered from guarded texts into pieces, which must be encoded independently. */
  readonly toPieces: (rendered: string) => string[]
  /** Returns whether the ids of the pieces contain more markers than their text. */
  readonly isForged: (pieces: readonly string[], ids: Uint32Array) => boolean
}

/**
 * Prevents callers' texts from becoming control tokens. A tokenizer recognizes added tokens by their text alone, so a
 * token's text in a caller's message is split: a break is inserted after its first character, the template renders, and
 * the pieces between the breaks are encoded independently. Without such texts there is one piece, with its usual ids.
 *
 * A token can also arise where a template joins texts, such as `<`, a caller's key and `>`. So an edge is put at the
 * beginning and at the end of a caller's text, wherever a token could span this text and its neighbour. An edge becomes
 * a break if a token really spans it, and is removed otherwise.
 *
 * Breaks and edges are Unicode noncharacters, which are not meant for interchange. Such a noncharacter in a caller's
 * text becomes U+FFFD, as does a lone surrogate, which UTF-8 cannot encode.
 */
export function createTokenGuard(options: {
  readonly addedTokens: readonly AddedToken[]
  /** The template's Jinja. Names and texts that the template compares with stay unchanged. */
  readonly source: string
}): TokenGuard {
  const markers = options.addedTokens.filter(isMarker)
  const counted = markers.filter(({ isUnknown }) => isUnknown !== true)
  const isCounted = new Uint8Array(Math.max(-1, ...counted.map(({ id }) => id)) + 1)
  for (const { id } of counted) isCounted[id] = 1
  const patterns = {
    all: toPattern(markers),
    special: toPattern(markers.filter(({ special }) => special)),
    counted: toPattern(counted),
  }
  const parts = collectParts(markers)
  const known = namesOf(options.source)

  function guardText(text: string, tokens: GuardedTokens): string {
    const plain = text.toWellFormed().replaceAll(RESERVED, '\uFFFD')
    return markEdges(plain.replaceAll(patterns[tokens], `$&${BREAK}`), known, parts)
  }

  function guardJson(value: unknown, depth = 0): unknown {
    if (depth > MAX_DEPTH) throw new RangeError(`more than ${MAX_DEPTH} levels`)
    if (typeof value === 'string') return guardText(value, 'all')
    if (Array.isArray(value)) return value.map((item) => guardJson(item, depth + 1))
    if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [guardText(key, 'all'), guardJson(item, depth + 1)]),
    )
  }

  return {
    guardText,
    guardJson: (value) => guardJson(value),
    toPieces: (rendered) =>
      rendered
        .split(BREAK)
        .flatMap((piece) => resolveEdges(piece, patterns.all, parts))
        .filter((piece) => piece !== ''),
    isForged(pieces, ids) {
      let found = 0
      for (let at = 0; at < ids.length; at++) found += isCounted[ids[at] ?? 0] ?? 0
      // No token spans a break, so all pieces are searched at once.
      for (const _ of pieces.join(BREAK).matchAll(patterns.counted)) found -= 1
      return found > 0
    },
  }
}

const BREAK = '\uFDD0'
const EDGE = '\uFDD1'
const RESERVED = /[\uFDD0\uFDD1]/gu

/** The depth that schemas may have; templates print this many levels without exhausting the stack. */
const MAX_DEPTH = 100

/** Some vocabularies also add blanks, letters or words as tokens; these tokens are text. */
function isMarker({ text, special }: AddedToken): boolean {
  const characters = Array.from(text).length
  if (special && characters < 2)
    throw new Error(`the special token '${text}' cannot be distinguished from text`)
  return special || (characters > 1 && /[^\p{L}\p{N}\s]/u.test(text))
}

/** Matches the first character of each token's text, also where tokens overlap. Matches nothing without tokens. */
function toPattern(tokens: readonly AddedToken[]): RegExp {
  const rests = new Map<string, string[]>()
  for (const { text } of tokens) {
    const [first = '', ...rest] = Array.from(text)
    rests.set(first, [...(rests.get(first) ?? []), RegExp.escape(rest.join(''))])
  }
  const alternatives = Array.from(rests, ([first, after]) => `${RegExp.escape(first)}(?=${after.join('|')})`)
  return new RegExp(alternatives.length === 0 ? '(?!)' : alternatives.join('|'), 'gu')
}

type Parts = {
  /** All tokens, longest first. */
  readonly tokens: readonly string[]
  readonly longest: number
  readonly heads: ReadonlySet<string>
  readonly tails: ReadonlySet<string>
  /** All tokens, one per line. */
  readonly lines: string
}

/** Collects the proper prefixes and suffixes of all tokens. */
function collectParts(markers: readonly AddedToken[]): Parts {
  const tokens = markers.map(({ text }) => text).toSorted((a, b) => b.length - a.length)
  const heads = new Set<string>()
  const tails = new Set<string>()
  for (const token of tokens) {
    for (let cut = 1; cut < token.length; cut++) {
      heads.add(token.slice(0, cut))
      tails.add(token.slice(cut))
    }
  }
  return { tokens, longest: tokens[0]?.length ?? 0, heads, tails, lines: tokens.join('\n') }
}

/** Returns every attribute and quoted text of a template: the names that it may look up in a message or a schema. */
function namesOf(template: string): ReadonlySet<string> {
  return new Set(
    Array.from(template.matchAll(/\.([A-Za-z_]\w*)|'([^'\n]*)'|"([^"\n]*)"/gu), (match) =>
      String(match[1] ?? match[2] ?? match[3]),
    ),
  )
}

/** Puts the edges inside leading and trailing blanks, which templates strip. */
function markEdges(text: string, known: ReadonlySet<string>, parts: Parts): string {
  const from = text.length - text.trimStart().length
  const to = text.trimEnd().length
  if (from >= to || known.has(text)) return text
  const inside = to - from < parts.longest && parts.lines.includes(text.slice(from, to))
  let begins = inside
  let ends = inside
  for (let length = 1; length < parts.longest && length <= to - from; length++) {
    begins ||= parts.tails.has(text.slice(from, from + length))
    ends ||= parts.heads.has(text.slice(to - length, to))
  }
  if (!begins && !ends) return text
  const marked = (begins ? EDGE : '') + text.slice(from, to) + (ends ? EDGE : '')
  return text.slice(0, from) + marked + text.slice(to)
}

/** Splits a piece at the edges that a token spans, and removes the other edges. */
function resolveEdges(piece: string, pattern: RegExp, { tokens }: Parts): string[] {
  if (!piece.includes(EDGE)) return [piece]
  const texts = piece.split(EDGE)
  const whole = texts.join('')
  let edge = 0
  const edges = texts.slice(0, -1).map((text) => (edge += text.length))
  const cuts = new Set<number>()
  let next = 0
  for (const { index } of whole.matchAll(pattern)) {
    const end = index + (tokens.find((token) => whole.startsWith(token, index))?.length ?? 0)
    while ((edges[next] ?? Infinity) <= index) next += 1
    for (let at = next; at < edges.length; at++) {
      const edge = edges[at] ?? Infinity
      if (edge >= end) break
      cuts.add(edge)
    }
  }
  const bounds = [0, ...cuts, whole.length]
  return bounds.slice(1).map((end, i) => whole.slice(bounds[i], end))
}

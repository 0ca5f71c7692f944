type Method = (text: string, ...args: readonly unknown[]) => string | number | boolean | string[]

/**
 * The string methods of Python that chat templates call and that the Jinja library does not have, or has only without
 * some of their arguments. Indices count characters, not UTF-16 units.
 */
export const STRING_METHODS: Readonly<Record<string, Method>> = {
  find: (text, part) => placeOf(text, text.indexOf(needText(part))),
  rfind: (text, part) => placeOf(text, text.lastIndexOf(needText(part))),
  index(text, part) {
    const place = placeOf(text, text.indexOf(needText(part)))
    if (place === -1) throw new Error('substring not found')
    return place
  },
  count: (text, part) =>
    needText(part) === '' ? Array.from(text).length + 1 : text.split(needText(part)).length - 1,
  splitlines: (text) =>
    text
      .replace(LAST_LINE_END, '')
      .split(LINE_END)
      .slice(text === '' ? 1 : 0),
  rsplit: splitFromRight,
  removeprefix: (text, part) => (text.startsWith(needText(part)) ? text.slice(needText(part).length) : text),
  removesuffix: (text, part) =>
    needText(part) !== '' && text.endsWith(needText(part)) ? text.slice(0, -needText(part).length) : text,
  strip: (text, characters) => stripStart(stripEnd(text, characters), characters),
  lstrip: stripStart,
  rstrip: stripEnd,
  title: (text) => text.toLowerCase().replaceAll(/\p{L}+/gu, (word) => capitalize(word)),
  capitalize,
  isdigit: (text) => /^\p{Nd}+$/u.test(text),
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isalnum: (text) => /^[\p{L}\p{Nd}]+$/u.test(text),
  isspace: (text) => ARE_BLANK.test(text),
}

/** Jinja's filter `title`, which differs from Python's method: an apostrophe does not end a word. */
export const toTitle = (text: string): string => text.replaceAll(/[^-\s({[<]+/gu, (word) => capitalize(word))

/** Python's white space. JavaScript's lacks the ASCII separators and includes the byte order mark. */
const BLANK = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const IS_BLANK = new RegExp(`^${BLANK}$`, 'u')
const ARE_BLANK = new RegExp(`^${BLANK}+$`, 'u')

const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/u
const LAST_LINE_END = /(?:\r\n|[\n\r\v\f\u0085\u2028\u2029])$/u

function needText(value: unknown): string {
  if (typeof value === 'string') return value
  throw new Error('a string is expected')
}

const placeOf = (text: string, unit: number): number =>
  unit === -1 ? -1 : Array.from(text.slice(0, unit)).length

function splitFromRight(text: string, separator?: unknown, most?: unknown): string[] {
  const isBlank = separator === undefined || separator === null
  const parts = isBlank ? text.split(/\s+/u).filter((part) => part !== '') : text.split(needText(separator))
  const rest = typeof most === 'number' && most >= 0 ? parts.length - most : 0
  if (rest <= 1) return parts
  if (isBlank) throw new Error('rsplit by blanks cannot be limited')
  return [parts.slice(0, rest).join(needText(separator)), ...parts.slice(rest)]
}

function stripStart(text: string, characters?: unknown): string {
  if (characters === undefined || characters === null) return text.slice(countBlanks(text, 1))
  const stripped = new Set(needText(characters))
  const all = Array.from(text)
  const from = all.findIndex((character) => !stripped.has(character))
  return from === -1 ? '' : all.slice(from).join('')
}

function stripEnd(text: string, characters?: unknown): string {
  if (characters === undefined || characters === null)
    return text.slice(0, text.length - countBlanks(text, -1))
  const stripped = new Set(needText(characters))
  const all = Array.from(text)
  return all.slice(0, all.findLastIndex((character) => !stripped.has(character)) + 1).join('')
}

/** Counts the blanks at the beginning (step 1) or at the end (step -1). */
function countBlanks(text: string, step: 1 | -1): number {
  let count = 0
  while (count < text.length && IS_BLANK.test(text.at(step === 1 ? count : -1 - count) ?? '')) count += 1
  return count
}

function capitalize(text: string): string {
  const [first = '', ...rest] = Array.from(text)
  return first.toUpperCase() + rest.join('').toLowerCase()
}

export type NumberKeeper = {
  /** Parses JSON. Numbers that JavaScript would print differently become marked strings. Throws a SyntaxError. */
  readonly parse: (json: string) => unknown
  /** In a rendered text, replaces the marked strings by their numbers, and removes the marks of keys. */
  readonly restore: (text: string) => string
}

/**
 * Python prints a 64-bit integer with all its digits, and it prints `1.0` as `1.0`. Models were trained on such text.
 * JavaScript's numbers lose digits of such an integer, and the `.0`. So the numbers that would change pass through the
 * template as marked strings. The mark is a Unicode noncharacter. Keys that look like integers also end in a
 * noncharacter, because JavaScript would order them before all others.
 */
export function createNumberKeeper(): NumberKeeper {
  const kept: string[] = []
  return {
    parse: (json) =>
      JSON.parse(
        json.replaceAll(STRING_OR_KEY, markKey),
        (_key: string, value: unknown, context?: { source?: string }) => {
          if (typeof value !== 'number' || context?.source === undefined) return value
          const python = toPythonNumber(context.source)
          if (python === JSON.stringify(value)) return value
          const kind = /^-?\d+$/.test(python) ? INTEGER : FLOAT
          return `${MARK}${kind}${kept.push(python) - 1}${MARK}`
        },
      ),
    restore(text) {
      if (!text.includes(MARK[0] ?? '')) return text
      return text
        .replaceAll(MARKED, (whole, place: string) => kept[Number(place)] ?? whole)
        .replaceAll(KEY_MARK, '')
    },
  }
}

/** Returns the kind of number that a string in a result of `parse` stands for; null for an ordinary string. */
export function keptKind(text: string): 'integer' | 'float' | null {
  if (!text.startsWith(MARK)) return null
  if (text.startsWith(INTEGER, MARK.length)) return 'integer'
  return text.startsWith(FLOAT, MARK.length) ? 'float' : null
}

/**
 * Turns a marked string, which stands for a number, into a string that a template prints as the number. Returns other
 * strings unchanged.
 */
export const asText = (text: string): string =>
  keptKind(text) === null ? text : MARK + TEXT + text.slice(MARK.length + FLOAT.length)

/**
 * Corrects JSON that the Jinja library wrote from values that `parse` returned. `parse` turns some numbers into marked
 * strings: this function removes the quotes around these strings. It also replaces the escapes of noncharacters by the
 * characters.
 */
export function toPythonJson(json: string): string {
  return json
    .replaceAll(ESCAPES, (escape) =>
      escape === ESCAPED_BACKSLASH ? escape : String(JSON.parse(`"${escape}"`)),
    )
    .replaceAll(QUOTED, `${MARK}${TEXT}$1`)
}

const MARK = '\u{FFFFE}'
const KEY_MARK = '\u{FFFFF}'

/** Matches every string of a JSON text, with the colon behind it if it is a key. */
const STRING_OR_KEY = /"((?:[^"\\]|\\.)*)"(?=(\s*:)?)/gsu

function markKey(whole: string, text: string, colon: string | undefined): string {
  return colon !== undefined && /^\d+$/.test(text) ? `"${text}${KEY_MARK}"` : whole
}

// The kinds are not letters, because a filter may change the case of letters.
const INTEGER = '#'
const FLOAT = '.'
const TEXT = '_'

const MARKED = new RegExp(`${MARK}[${INTEGER}${FLOAT}${TEXT}](\\d+)${MARK}`, 'gu')
const QUOTED = new RegExp(`"${MARK}[${INTEGER}${FLOAT}](\\d+${MARK})"`, 'gu')

const ESCAPED_BACKSLASH = '\\\\'

/** The marks of numbers, of keys and of a token guard, as JSON escapes them in ASCII. */
const ESCAPES = /\\(?:\\|udbbf\\udff[ef]|ufdd[01])/gu

/** Returns a number as Python's `json.dumps(json.loads(source))` does. */
function toPythonNumber(source: string): string {
  if (/^-?\d+$/.test(source)) return source === '-0' ? '0' : source
  const value = Number(source)
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const [mantissa = '', exponentText = ''] = Math.abs(value).toExponential().split('e')
  const digits = mantissa.replace('.', '')
  const exponent = Number(exponentText)
  if (exponent < -4 || exponent >= 16) {
    const power = String(Math.abs(exponent)).padStart(2, '0')
    return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${power}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}

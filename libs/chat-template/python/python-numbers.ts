export type NumberKeeper = {
  /** `JSON.parse`, with numbers that JavaScript would print differently replaced by marks. Throws SyntaxError. */
  readonly parse: (json: string) => unknown
  /** Puts the kept numbers where their marks came out. */
  readonly restore: (text: string) => string
}

/**
 * Templates print numbers as Python does (`1.0` stays `1.0`, 64-bit integers keep their digits), and models
 * were trained on that; JavaScript has one kind of number and loses both. So the numbers that would change
 * travel through the template as marked strings. The mark is a Unicode noncharacter, which text never holds. Keys
 * that look like whole numbers end in one too: JavaScript would put those before all others.
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

/** What kind of number a text of `parse` stands for; null: it is a text. */
export function keptKind(text: string): 'integer' | 'float' | null {
  if (!text.startsWith(MARK)) return null
  if (text.startsWith(INTEGER, MARK.length)) return 'integer'
  return text.startsWith(FLOAT, MARK.length) ? 'float' : null
}

/** A kept number as a text of its own; every other text as it is. */
export const asText = (text: string): string =>
  keptKind(text) === null ? text : MARK + TEXT + text.slice(MARK.length + FLOAT.length)

/** JSON that the engine wrote of values of `parse`: kept numbers without quotes, and all noncharacters unescaped. */
export function toPythonJson(json: string): string {
  return json
    .replaceAll(ESCAPES, (escape) =>
      escape === ESCAPED_BACKSLASH ? escape : String(JSON.parse(`"${escape}"`)),
    )
    .replaceAll(QUOTED, `${MARK}${TEXT}$1`)
}

const MARK = '\u{FFFFE}'
const KEY_MARK = '\u{FFFFF}'

/** Every string of a JSON text, and the colon that makes it a key. */
const STRING_OR_KEY = /"((?:[^"\\]|\\.)*)"(?=(\s*:)?)/gsu

function markKey(whole: string, text: string, colon: string | undefined): string {
  return colon !== undefined && /^\d+$/.test(text) ? `"${text}${KEY_MARK}"` : whole
}

// Without upper and lower case: a filter may change that of a text.
const INTEGER = '#'
const FLOAT = '.'
const TEXT = '_'

const MARKED = new RegExp(`${MARK}[${INTEGER}${FLOAT}${TEXT}](\\d+)${MARK}`, 'gu')
const QUOTED = new RegExp(`"${MARK}[${INTEGER}${FLOAT}](\\d+${MARK})"`, 'gu')

const ESCAPED_BACKSLASH = '\\\\'

/** What stands for the marks of numbers and keys, and for those of a token guard, in JSON of ASCII alone. */
const ESCAPES = /\\(?:\\|udbbf\\udff[ef]|ufdd[01])/gu

/** What `json.dumps(json.loads(source))` writes in Python. */
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

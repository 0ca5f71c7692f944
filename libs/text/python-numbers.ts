export type NumberKeeper = {
  /** `JSON.parse`, with numbers that JavaScript would print differently replaced by marks. Throws SyntaxError. */
  readonly parse: (json: string) => unknown
  /** Puts the kept numbers where their marks came out, quoted or not. */
  readonly restore: (text: string) => string
}

/**
 * Templates print numbers as Python does (`1.0` stays `1.0`, 64-bit integers keep their digits), and models
 * were trained on that; JavaScript has one kind of number and loses both. So the numbers that would change
 * travel through the template as marked strings. The mark is a Unicode noncharacter, which text never holds. Keys
 * that look like whole numbers have it too: JavaScript would put those before all others.
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
          return `${MARK}${kept.push(python) - 1}${MARK}`
        },
      ),
    restore(text) {
      if (!text.includes(MARK[0] ?? '')) return text
      return text
        .replaceAll(MARKED, (whole, quoted: string | undefined, bare: string | undefined) => {
          return kept[Number(quoted ?? bare)] ?? whole
        })
        .replaceAll(KEY_MARK, '')
    },
  }
}

/** Whether a text of `parse` stands for a number. */
export const isKeptNumber = (text: string): boolean => text.startsWith(MARK)

const MARK = '\u{FFFFE}'
const KEY_MARK = '\u{FFFFF}'

/** Every string of a JSON text, and the colon that makes it a key. */
const STRING_OR_KEY = /"((?:[^"\\]|\\.)*)"(?=(\s*:)?)/gsu

function markKey(whole: string, text: string, colon: string | undefined): string {
  return colon !== undefined && /^\d+$/.test(text) ? `"${KEY_MARK}${text}"` : whole
}

const MARKED = new RegExp(`"${MARK}(\\d+)${MARK}"|${MARK}(\\d+)${MARK}`, 'gu')

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

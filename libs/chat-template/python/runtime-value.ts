import { asText, keptKind } from './number-keeper.ts'

/**
 * A value in a running template. The Jinja library has a class for each type of value; this type has only the two
 * fields of these classes that are used here.
 */
export type RuntimeValue = { readonly type: string; readonly value: unknown }

/** Returns Python's `str` of a value, which is what a template prints. */
export function toPythonText(value: RuntimeValue): string {
  if (value.type === 'UndefinedValue') return ''
  return typeof value.value === 'string' ? asText(String(readKey(value.value))) : toPythonSource(value)
}

/** Compares as Python's `==`: numbers are equal by value, and a string never equals a number. */
export function isPythonEqual(a: RuntimeValue, b: RuntimeValue): boolean {
  const [left, right] = [a.value, b.value]
  if (Array.isArray(left) && Array.isArray(right)) {
    const [first, second] = [left.map(toRuntimeValue), right.map(toRuntimeValue)]
    return (
      a.type === b.type && first.length === second.length && first.every((item, i) => isSame(item, second[i]))
    )
  }
  if (left instanceof Map && right instanceof Map) {
    const others = new Map(Array.from(right, ([key, item]) => [String(key), toRuntimeValue(item)]))
    const items = Array.from(left, ([key, item]) => [String(key), toRuntimeValue(item)] as const)
    return items.length === others.size && items.every(([key, item]) => isSame(item, others.get(key)))
  }
  const [first, second] = [toNumber(left), toNumber(right)]
  if (first !== null && second !== null) return first === second
  return a.type === b.type && left === right
}

/** Returns Python's `a < b`. Throws where Python throws, and for a boolean, which `a < b < c` would compare here. */
export function isLess(a: RuntimeValue, b: RuntimeValue): boolean {
  const [left, right] = [a.value, b.value]
  const [first, second] = [toNumber(left), toNumber(right)]
  const hasBoolean = typeof left === 'boolean' || typeof right === 'boolean'
  if (first !== null && second !== null && !hasBoolean) return first < second
  // UTF-8 orders texts by their code points, as Python does.
  if (isString(a) && isString(b))
    return Buffer.compare(Buffer.from(String(left)), Buffer.from(String(right))) < 0
  throw new Error(`a ${a.type} cannot be compared with a ${b.type}`)
}

export const isString = ({ value }: RuntimeValue): boolean =>
  typeof value === 'string' && keptKind(value) === null

/** Returns the items of a list, the characters of a string or the keys of a dictionary, as a loop in Python does. */
export function itemsOf({ type, value }: RuntimeValue): RuntimeValue[] {
  if (type === 'UndefinedValue') return []
  if (Array.isArray(value)) return value.map(toRuntimeValue)
  if (value instanceof Map || typeof value === 'string') {
    return Array.from(value instanceof Map ? value.keys() : value, (item) => ({
      type: 'StringValue',
      value: item,
    }))
  }
  throw new Error(`a ${type} has no items`)
}

/** Returns a value as the Jinja library takes it from outside. */
export function toPlain({ type, value }: RuntimeValue): unknown {
  if (type === 'NullValue') return null
  if (Array.isArray(value)) return value.map((item) => toPlain(toRuntimeValue(item)))
  if (!(value instanceof Map)) return value
  return Object.fromEntries(Array.from(value, ([key, item]) => [key, toPlain(toRuntimeValue(item))]))
}

/** Begins the text of a key that is a number. Prompts are printed without it, as without the mark behind a key. */
const NUMBER_KEY = '\u{FFFFF}'

/** Returns a key of a dictionary as the Jinja library has it: always a string. Throws for a key of another type. */
export function toKeyText({ type, value }: RuntimeValue): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return NUMBER_KEY + String(value)
  throw new Error(`a ${type} is not supported as a key`)
}

/** Returns a key of a dictionary as the template wrote it. */
export function readKey(text: unknown): string | number {
  const key = String(text)
  return key.startsWith(NUMBER_KEY) && key.length > NUMBER_KEY.length
    ? Number(key.slice(NUMBER_KEY.length))
    : key
}

const isSame = (a: RuntimeValue, b: RuntimeValue | undefined): boolean =>
  b !== undefined && isPythonEqual(a, b)

/** Returns the number of a numeric value, or of a key that is a number; null for any other value. */
function toNumber(value: unknown): number | null {
  const number = typeof value === 'string' ? readKey(value) : value
  return typeof number === 'number' || typeof number === 'boolean' ? Number(number) : null
}

export function toRuntimeValue(value: unknown): RuntimeValue {
  if (typeof value === 'object' && value !== null && 'type' in value && 'value' in value) {
    return { type: String(value.type), value: value.value }
  }
  throw new Error('the Jinja library passed a value of an unknown kind')
}

/** Returns Python's `repr` of a value. */
export function toPythonSource({ type, value }: RuntimeValue): string {
  if (typeof value === 'string') return keptKind(value) === null ? quote(value) : value
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'number')
    return type === 'FloatValue' && Number.isInteger(value) ? `${value}.0` : String(value)
  if (type === 'NullValue') return 'None'
  if (type === 'UndefinedValue') return 'Undefined'
  if (Array.isArray(value)) {
    const items = value.map((item) => toPythonSource(toRuntimeValue(item)))
    if (type !== 'TupleValue') return `[${items.join(', ')}]`
    return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`
  }
  if (value instanceof Map) {
    const items = Array.from(
      value,
      ([key, item]) => `${toKeySource(readKey(key))}: ${toPythonSource(toRuntimeValue(item))}`,
    )
    return `{${items.join(', ')}}`
  }
  throw new Error(`a template cannot print a ${type}`)
}

const toKeySource = (key: string | number): string => (typeof key === 'number' ? String(key) : quote(key))

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replaceAll(UNPRINTABLE, (character) => {
    if (character === '\\' || character === mark) return `\\${character}`
    if (character === '"' || character === "'") return character
    return SHORT_ESCAPES.get(character) ?? toEscape(character.codePointAt(0) ?? 0)
  })
  return mark + escaped + mark
}

/**
 * The characters that `quote` may escape. Python also escapes unassigned characters. They stay unchanged here, because
 * some of them mark callers' texts (`token-guard.ts`).
 */
const UNPRINTABLE = /[\\'"\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu

const SHORT_ESCAPES = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

function toEscape(code: number): string {
  const digits = code.toString(16)
  if (code < 0x100) return `\\x${digits.padStart(2, '0')}`
  return code < 0x10000 ? `\\u${digits.padStart(4, '0')}` : `\\U${digits.padStart(8, '0')}`
}

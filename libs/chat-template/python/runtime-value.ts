import { asText, keptKind } from './number-keeper.ts'

/**
 * A value in a running template. The Jinja library has a class for each type of value; this type has only the two
 * fields of these classes that are used here.
 */
export type RuntimeValue = { readonly type: string; readonly value: unknown }

/** Returns Python's `str` of a value, which is what a template prints. */
export function toPythonText(value: RuntimeValue): string {
  if (value.type === 'UndefinedValue') return ''
  return typeof value.value === 'string' ? asText(value.value) : toPythonSource(value)
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
  if (isNumeric(left) && isNumeric(right)) return Number(left) === Number(right)
  return a.type === b.type && left === right
}

const isSame = (a: RuntimeValue, b: RuntimeValue | undefined): boolean =>
  b !== undefined && isPythonEqual(a, b)

const isNumeric = (value: unknown): boolean => typeof value === 'number' || typeof value === 'boolean'

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
      ([key, item]) => `${quote(String(key))}: ${toPythonSource(toRuntimeValue(item))}`,
    )
    return `{${items.join(', ')}}`
  }
  throw new Error(`a template cannot print a ${type}`)
}

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

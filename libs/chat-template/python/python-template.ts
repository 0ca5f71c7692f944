import { Template } from '@huggingface/jinja'
import { formatDate } from './format-date.ts'
import { formatBraces, formatPercent } from './format-text.ts'
import { toPythonJson } from './number-keeper.ts'
import { rewriteBlock } from './rewrite-block.ts'
import { STRING_METHODS, toTitle } from './string-methods.ts'
import { isIn, TESTS } from './jinja-tests.ts'
import { isNode } from './template-nodes.ts'
import { evaluateEach } from './each-item.ts'
import {
  isLess,
  isPythonEqual,
  isString,
  itemsOf,
  readKey,
  toKeyText,
  toPythonText,
  toRuntimeValue,
  type RuntimeValue,
} from './runtime-value.ts'

export type PythonTemplate = { readonly render: (values: Readonly<Record<string, unknown>>) => string }

/**
 * Returns a chat template that renders as Python renders it: see README.md. Throws for a source that cannot be parsed;
 * `render` throws a TemplateRefusal where the template raises an error, and another error for a construct that the
 * Jinja library lacks. `now` is the date for templates that print it.
 */
export function createPythonTemplate(source: string, now: () => Date): PythonTemplate {
  const template = new Template(source)
  template.parsed.body = rewriteBlock(template.parsed.body)
  const date: TemplateFunction = (values) => formatDate(now(), toPythonText(argument(values, 0)))
  const functions = new Map(Object.entries({ ...FUNCTIONS, '.now': date }))
  // For each lookup of an unknown name the Jinja library throws and catches an error with its stack, which is slow. So
  // every name in the template is defined here. A name without a value is defined as undefined.
  const names = new Set(namesIn(template.parsed.body)).difference(LIBRARY_NAMES)
  const known = Object.fromEntries(Array.from(names, (name) => [name, functions.get(name)]))
  return { render: (values) => template.render({ ...known, ...values }) }
}

/** Names that the Jinja library defines by itself. It refuses other values for them. */
const LIBRARY_NAMES: ReadonlySet<string> = new Set([
  'true',
  'True',
  'false',
  'False',
  'none',
  'None',
  'namespace',
  'raise_exception',
  'range',
  'strftime_now',
])

/** Yields the names of variables, functions, filters and tests, but not of an object's fields. */
function* namesIn(part: unknown): Generator<string> {
  if (Array.isArray(part)) for (const item of part) yield* namesIn(item)
  else if (part instanceof Map) yield* namesIn([...part.keys(), ...part.values()])
  else if (isNode(part)) {
    if (part.type === 'Identifier') yield String(part['value'])
    const isField = part.type === 'MemberExpression' && part['computed'] === false
    yield* namesIn(isField ? part['object'] : Object.values(part))
  }
}

/** Thrown where a template itself refuses what it is given, by `raise_exception`. */
export class TemplateRefusal extends Error {}

type TemplateFunction = (values: readonly unknown[]) => unknown

/** The functions that a rewritten template calls, under names that no template can write. */
const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  '.text': (values) => toPythonText(argument(values, 0)),
  '.joined': (values) => values.map((value) => toPythonText(toRuntimeValue(value))).join(''),
  '.sum': (values) => values.map((value) => toText(toRuntimeValue(value))).join(''),
  '.texts': (values) => itemsOf(argument(values, 0)).map(toPythonText),
  '.sortedKeys': (values) => sortedKeysOf(argument(values, 0)),
  '.length': (values) => lengthOf(argument(values, 0)),
  '.equal': (values) => isPythonEqual(argument(values, 0), argument(values, 1)),
  '.in': (values) => isIn(argument(values, 0), argument(values, 1)),
  '.less': (values) => isLess(argument(values, 0), argument(values, 1)),
  '.test'(values) {
    const name = String(argument(values, 0).value)
    const test = TESTS[name]
    if (test === undefined) throw new Error(`the test ${name} is not supported`)
    return test(argument(values, 1), values[2] === undefined ? NOTHING : argument(values, 2))
  },
  '.map': (values) => evaluateEach(values, FUNCTIONS).map(({ result }) => result),
  '.select': (values) => itemsThat(true, values),
  '.reject': (values) => itemsThat(false, values),
  '.key': (values) => toKey(argument(values, 0), values[1]),
  '.ownKey': (values) => toKeyText(argument(values, 0)),
  '.json': (values) => toPythonJson(String(argument(values, 0).value)),
  '.percent': (values) => percent(argument(values, 0), argument(values, 1)),
  '.braces': (values) => formatBraces(toPythonText(argument(values, 0)), values.slice(1).map(toRuntimeValue)),
  '.title': (values) => toTitle(toPythonText(argument(values, 0))),
  '.method'(values) {
    const [name, text, ...args] = values.map((value) => toRuntimeValue(value).value)
    return STRING_METHODS[String(name)]?.(String(text), ...args)
  },
  '.raise'(values) {
    throw new TemplateRefusal(toPythonText(argument(values, 0)))
  },
  '.keys'(values) {
    const { type, value } = argument(values, 0)
    if (!(value instanceof Map)) throw new Error(`a ${type} has no keys`)
    return Array.from(value.keys(), readKey)
  },
  '.characters': (values) => Array.from(String(argument(values, 0).value)),
}

const argument = (values: readonly unknown[], place: number): RuntimeValue => toRuntimeValue(values[place])

const itemsThat = (pass: boolean, values: readonly unknown[]): unknown[] =>
  evaluateEach(values, FUNCTIONS)
    .filter(({ result }) => result === pass)
    .map(({ item }) => item)

function toText(value: RuntimeValue): string {
  if (!isString(value)) throw new Error(`a ${value.type} cannot be added to a string`)
  return toPythonText(value)
}

/**
 * Returns the keys sorted: numbers by value, texts case-insensitively, ignoring the noncharacters that mark a caller's
 * texts.
 */
function sortedKeysOf({ type, value }: RuntimeValue): (string | number)[] {
  if (!(value instanceof Map)) throw new Error(`a ${type} has no keys`)
  const numbers = Array.from(value.keys(), readKey).filter((key) => typeof key === 'number')
  if (numbers.length > 0 && numbers.length === value.size) return numbers.sort((a, b) => a - b)
  const keys = Array.from(value.keys(), String)
  const places = new Map(keys.map((key) => [key, key.replaceAll(/\p{NChar}/gu, '').toLowerCase()]))
  const placeOf = (key: string) => places.get(key) ?? key
  return keys.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : Number(placeOf(a) > placeOf(b))))
}

function lengthOf({ type, value }: RuntimeValue): number {
  if (type === 'UndefinedValue') return 0
  if (Array.isArray(value)) return value.length
  if (value instanceof Map) return value.size
  if (typeof value === 'string') return Array.from(value).length
  throw new Error(`a ${type} has no length`)
}

/** Returns Python's `left % right`, for a string or for integers. The remainder has the sign of `right`. */
function percent(left: RuntimeValue, right: RuntimeValue): string | number {
  if (typeof left.value === 'string') {
    return formatPercent(left.value, right.type === 'TupleValue' ? itemsOf(right) : [right])
  }
  if (left.type !== 'IntegerValue' || right.type !== 'IntegerValue' || right.value === 0) {
    throw new Error(`a ${left.type} % a ${right.type} is not supported`)
  }
  const divisor = Number(right.value)
  return ((Number(left.value) % divisor) + divisor) % divisor
}

/**
 * Returns the key for a lookup. An undefined or composite key becomes `NO_KEY`, a key that no object has, so that the
 * lookup gives undefined; the Jinja library would throw.
 */
function toKey(key: RuntimeValue, owner: unknown): string | number {
  const { value } = key
  if (typeof value === 'number' && owner !== undefined && toRuntimeValue(owner).value instanceof Map) {
    return toKeyText(key)
  }
  return typeof value === 'string' || typeof value === 'number' ? value : NO_KEY
}

const NOTHING: RuntimeValue = { type: 'UndefinedValue', value: undefined }

const NO_KEY = '\u{FFFFF}'

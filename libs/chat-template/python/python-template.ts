import { Template } from '@huggingface/jinja'
import { formatDate } from './python-dates.ts'
import { formatBraces, formatPercent } from './python-format.ts'
import { toPythonJson } from './python-numbers.ts'
import { rewriteBlock } from './python-rewrite.ts'
import { STRING_METHODS, toTitle } from './python-strings.ts'
import { isIn, TESTS } from './python-tests.ts'
import { isPythonEqual, toPythonText, toRuntimeValue, type RuntimeValue } from './python-values.ts'

export type PythonTemplate = { readonly render: (values: Readonly<Record<string, unknown>>) => string }

/**
 * A chat template that says what it says in Python. The engine is JavaScript's and differs without a word: it prints
 * `true` for `True` and lists as JSON, compares `1` with `'1'`, keeps what a loop has set, and forgets what it has
 * printed before a `break`. So the parsed template is rewritten before it runs: what differs becomes calls of functions
 * of ours. What the engine lacks altogether (`{% raw %}`, `a < b < c`, most filters with tests) still throws when it is
 * parsed or met. What is known to differ without a word, `docs/models.md` tells. Throws for what is no Jinja.
 */
export function createPythonTemplate(source: string, now: () => Date): PythonTemplate {
  const template = new Template(source)
  template.parsed.body = rewriteBlock(template.parsed.body)
  const date: TemplateFunction = (values) => formatDate(now(), toPythonText(argument(values, 0)))
  return { render: (values) => template.render({ ...values, ...FUNCTIONS, '.now': date }) }
}

type TemplateFunction = (values: readonly unknown[]) => unknown

/** What a rewritten template calls, under names that no template can write. */
const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  '.text': (values) => toPythonText(argument(values, 0)),
  '.joined': (values) => values.map((value) => toPythonText(toRuntimeValue(value))).join(''),
  '.sum': (values) => values.map((value) => toText(toRuntimeValue(value))).join(''),
  '.texts': (values) => itemsOf(argument(values, 0)).map(toPythonText),
  '.sortedKeys': (values) => sortedKeysOf(argument(values, 0)),
  '.length': (values) => lengthOf(argument(values, 0)),
  '.equal': (values) => isPythonEqual(argument(values, 0), argument(values, 1)),
  '.in': (values) => isIn(argument(values, 0), argument(values, 1)),
  '.test': (values) => TESTS[String(argument(values, 0).value)]?.(argument(values, 1)),
  '.key': (values) => toKey(argument(values, 0)),
  '.json': (values) => toPythonJson(String(argument(values, 0).value)),
  '.percent': (values) => percent(argument(values, 0), argument(values, 1)),
  '.braces': (values) => formatBraces(toPythonText(argument(values, 0)), values.slice(1).map(toRuntimeValue)),
  '.title': (values) => toTitle(toPythonText(argument(values, 0))),
  '.method'(values) {
    const [name, text, ...args] = values.map((value) => toRuntimeValue(value).value)
    return STRING_METHODS[String(name)]?.(String(text), ...args)
  },
  '.characters': (values) => Array.from(String(argument(values, 0).value)),
}

const argument = (values: readonly unknown[], place: number): RuntimeValue => toRuntimeValue(values[place])

function toText(value: RuntimeValue): string {
  if (!TESTS['string']?.(value)) throw new Error(`a ${value.type} cannot be added to a text`)
  return toPythonText(value)
}

function itemsOf({ type, value }: RuntimeValue): RuntimeValue[] {
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

/** Without regard to case, nor to the noncharacters that travel with texts. */
function sortedKeysOf({ type, value }: RuntimeValue): string[] {
  if (!(value instanceof Map)) throw new Error(`a ${type} has no keys`)
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

/** Python's `left % right`, of a text or of whole numbers, whose rest has the sign of the right one. */
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

/** Python finds nothing under what is undefined or no text; the engine refuses to look. */
function toKey({ value }: RuntimeValue): string | number {
  return typeof value === 'string' || typeof value === 'number' ? value : NO_KEY
}

const NO_KEY = '\u{FFFFF}'

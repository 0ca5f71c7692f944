import { keptKind } from './number-keeper.ts'
import {
  isLess,
  isPythonEqual,
  isString,
  toKeyText,
  toRuntimeValue,
  type RuntimeValue,
} from './runtime-value.ts'

/** Jinja's tests that the Jinja library lacks or evaluates differently from Python. */
export const TESTS: Readonly<Record<string, (value: RuntimeValue, other: RuntimeValue) => boolean>> = {
  string: isString,
  number: (value) => numberKind(value) !== null,
  integer: (value) => numberKind(value) === 'integer',
  float: (value) => numberKind(value) === 'float',
  iterable: isIterable,
  sequence: isIterable,
  eq: isPythonEqual,
  equalto: isPythonEqual,
  ne: (value, other) => !isPythonEqual(value, other),
  lt: isLess,
  gt: (value, other) => isLess(other, value),
  le: (value, other) => !isLess(other, value),
  ge: (value, other) => !isLess(value, other),
  in: isIn,
}

/** Returns Python's `item in container`. Throws where Python throws. */
export function isIn(item: RuntimeValue, container: RuntimeValue): boolean {
  const { type, value } = container
  if (type === 'UndefinedValue') return false
  if (Array.isArray(value)) return value.some((other) => isPythonEqual(item, toRuntimeValue(other)))
  if (value instanceof Map)
    return ['string', 'number'].includes(typeof item.value) && value.has(toKeyText(item))
  if (typeof value === 'string' && typeof item.value === 'string') return value.includes(item.value)
  throw new Error(`a ${item.type} cannot be searched in a ${type}`)
}

function numberKind({ type, value }: RuntimeValue): 'integer' | 'float' | 'boolean' | null {
  if (typeof value === 'string') return keptKind(value)
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value !== 'number') return null
  return type === 'FloatValue' ? 'float' : 'integer'
}

/** An undefined value of Jinja is iterable and empty. */
function isIterable({ type, value }: RuntimeValue): boolean {
  if (typeof value === 'string') return keptKind(value) === null
  return Array.isArray(value) || value instanceof Map || type === 'UndefinedValue'
}

import { keptKind } from './number-keeper.ts'
import { isPythonEqual, toRuntimeValue, type RuntimeValue } from './runtime-value.ts'

/** Jinja's tests that the Jinja library lacks or evaluates differently from Python. */
export const TESTS: Readonly<Record<string, (value: RuntimeValue) => boolean>> = {
  string: (value) => typeof value.value === 'string' && keptKind(value.value) === null,
  number: (value) => numberKind(value) !== null,
  integer: (value) => numberKind(value) === 'integer',
  float: (value) => numberKind(value) === 'float',
  iterable: isIterable,
  sequence: isIterable,
}

/** Returns Python's `item in container`. Throws where Python throws. */
export function isIn(item: RuntimeValue, container: RuntimeValue): boolean {
  const { type, value } = container
  if (type === 'UndefinedValue') return false
  if (Array.isArray(value)) return value.some((other) => isPythonEqual(item, toRuntimeValue(other)))
  if (value instanceof Map) return typeof item.value === 'string' && value.has(item.value)
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

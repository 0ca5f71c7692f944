import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'

/**
 * Checks the same as `expect(actual).toEqual(expected)`, but is fast enough for thousands of comparisons: it calls
 * `expect` only if the values may differ.
 */
export function expectEqual(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected)
}

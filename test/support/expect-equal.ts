import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'

/**
 * As `expect(actual).toEqual(expected)`, for thousands of comparisons: `expect` is called only if the values may
 * differ.
 */
export function expectEqual(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected)
}

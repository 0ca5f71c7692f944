import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'

/** `expect(actual).toEqual(expected)` for thousands of comparisons: `expect` takes part only where the values may differ. */
export function expectEqual(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected)
}

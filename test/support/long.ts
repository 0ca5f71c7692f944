/** `npm run test:long` sets it to 1. */
const LONG_VARIABLE = 'MILLRACE_TEST_LONG'

/** Whether tests take their long form: every random case that they have, not only as many as each change can wait for. */
export const IS_LONG = process.env[LONG_VARIABLE] === '1'

/**
 * A number of a test's short form and of its long one, most often of random cases: `few` in `npm test`, `all` in
 * `npm run test:long`, which runs the test files that import this one, and those of `test/soak`.
 */
export function runs(few: number, all: number): number {
  return IS_LONG ? all : few
}

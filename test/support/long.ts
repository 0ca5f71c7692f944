/** The variable that `npm run test:long` sets to 1. */
const LONG_VARIABLE = 'MILLRACE_TEST_LONG'

/** True if tests run in their long form: with all of their random cases, not only as many as a change can wait for. */
export const IS_LONG = process.env[LONG_VARIABLE] === '1'

/**
 * Returns a number for a test's short or long form, usually of random cases: `few` in `npm test`, `all` in `npm run
 * test:long`, which runs the test files that import this module and the files of `test/soak`.
 */
export function runs(few: number, all: number): number {
  return IS_LONG ? all : few
}

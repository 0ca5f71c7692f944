/** The variable that `npm run test:long` sets to 1. */
const LONG_VARIABLE = 'MILLRACE_TEST_LONG'

/**
 * True if tests run in their long form: with all of their random cases, instead of the few that run with each change.
 */
export const IS_LONG = process.env[LONG_VARIABLE] === '1'

/**
 * Returns a number that depends on the form of the tests, such as a test's number of random cases or its timeout: `few`
 * in the short form (`npm test`), `all` in the long form (`npm run test:long`). The long form runs the test files that
 * import this module, and the files of `test/soak`.
 */
export function runs(few: number, all: number): number {
  return IS_LONG ? all : few
}

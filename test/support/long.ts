/** `npm run test:long` sets it to 1. */
const LONG_VARIABLE = 'MILLRACE_TEST_LONG'

/** Whether tests take their long form: every random case that they have, not only as many as each change can wait for. */
export const IS_LONG = process.env[LONG_VARIABLE] === '1'

/** How many random cases a test tries: `few` in `npm test`, `all` in `npm run test:long`, which runs the files that import this one. */
export function runs(few: number, all: number): number {
  return IS_LONG ? all : few
}

// Runs after every test with a browser: no page may have had an error, a warning or a violation of its policy.
import { afterEach, expect } from 'vitest'
import { closePages } from './browser.ts'

afterEach(async () => {
  expect(await closePages()).toEqual([])
})

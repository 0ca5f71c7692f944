import type { Browser } from 'playwright-core'
import { test } from 'vitest'
import { openBrowser } from './browser.ts'

let shared: Browser | undefined

/** Vitest closes it at the end of the test process. */
const withBrowser = test.extend('browser', { scope: 'worker' }, async ({}, { onCleanup }) => {
  shared ??= await openBrowser()
  const opened = shared
  onCleanup(async () => await opened.close())
  return opened
})

/** Before the tests of a file: opens the browser of this process, unless a file before has done so. */
export function openSharedBrowser(): void {
  withBrowser.beforeAll(({ browser }) => {
    shared = browser
  })
}

/**
 * The one browser of this test process, for all its files, so that none starts another. A page is still in a browser
 * profile of its own.
 */
export function sharedBrowser(): Browser {
  if (shared === undefined) throw new Error('the set-up file of the project has opened no browser')
  return shared
}

import type { Browser } from 'playwright-core'
import { test } from 'vitest'
import { openBrowser } from './browser.ts'

let shared: Browser | undefined

/** The browser of the test process; Vitest closes it when the process ends. */
const withBrowser = test.extend('browser', { scope: 'worker' }, async ({}, { onCleanup }) => {
  shared ??= await openBrowser()
  const opened = shared
  onCleanup(async () => await opened.close())
  return opened
})

/** Opens the browser of this process before the tests of a file, unless an earlier file has done so. */
export function openSharedBrowser(): void {
  withBrowser.beforeAll(({ browser }) => {
    shared = browser
  })
}

/**
 * Returns the browser that all files of this test process share, so that no file starts another one. Each page still
 * has a browser profile of its own.
 */
export function sharedBrowser(): Browser {
  if (shared === undefined) throw new Error('the set-up file of the project has opened no browser')
  return shared
}

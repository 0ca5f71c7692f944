// Runs around every test with a browser: no page may have had an error, a warning or a violation of its policy.
import { afterEach } from 'vitest'
import { closePages, HAS_BROWSER } from './browser.ts'
import { openSharedBrowser } from './shared-browser.ts'

if (HAS_BROWSER) openSharedBrowser()

afterEach(async () => {
  const problems = await closePages()
  if (problems.length > 0) throw new Error(`the pages had problems:\n${problems.join('\n')}`)
})

// Runs after every test with a browser: no page may have had an error, a warning or a violation of its policy.
import { afterEach } from 'vitest'
import { closePages } from './browser.ts'

afterEach(async () => {
  const problems = await closePages()
  if (problems.length > 0) throw new Error(`the pages had problems:\n${problems.join('\n')}`)
})

// Runs once before the tests that need a browser. If there is no browser, the tests are skipped and the reason is
// printed.
import { ensureChromium } from '#scripts/servers/ensure-chromium.ts'
import { CHROMIUM_VARIABLE } from './browser.ts'

export async function setup(): Promise<void> {
  const path = await ensureChromium({ say: console.error })
  if (path === null) console.error('the tests of the console in a browser are SKIPPED: no Chromium')
  else process.env[CHROMIUM_VARIABLE] = path
}

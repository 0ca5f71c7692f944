// `npm run screens`: writes a picture of every screen, light and dark, wide and narrow, to `.millrace/screens`.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ensureChromium } from '#scripts/servers/ensure-chromium.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { setup, teardown } from '#test/support/global-setup.ts'
import { CHROMIUM_VARIABLE, openBrowser, openPage } from './support/browser.ts'
import { signIn } from './support/console-server.ts'
import { startDemo } from './support/demo.ts'

const FOLDER = join(REPOSITORY, '.millrace/screens')
const SIZES = [
  { name: '1280', width: 1280, height: 800 },
  { name: '375', width: 375, height: 720 },
] as const

const path = await ensureChromium({ say: console.error })
if (path === null) throw new Error('pictures need Chromium')
process.env[CHROMIUM_VARIABLE] = path
mkdirSync(FOLDER, { recursive: true })
await setup()
const demo = await startDemo()
const browser = await openBrowser()
try {
  const { page } = await openPage(browser, {})
  await signIn(page, demo.served.origin)
  const cookies = await page.context().cookies()
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const { name, ...viewport } of SIZES) {
      const opened = await openPage(browser, { colorScheme, viewport })
      await opened.page.context().addCookies(cookies)
      for (const [screen, hash] of Object.entries(demo.screens)) {
        await opened.page.goto(`${demo.served.origin}/${hash}`)
        await opened.page.getByRole('heading', { level: 1 }).waitFor()
        await opened.page.waitForLoadState('load')
        // A picture of what the first answers show, and a tick later.
        await opened.page.waitForTimeout(1_500)
        await opened.page.screenshot({
          path: join(FOLDER, `${screen}-${colorScheme}-${name}.png`),
          fullPage: true,
        })
      }
      console.log(
        `${colorScheme}, ${name} px: ${opened.problems.length} problems ${opened.problems.join('; ')}`,
      )
      await opened.page.context().close()
    }
  }
} finally {
  await browser.close()
  await demo.stop()
  await teardown()
}

// `npm run screens`: writes a picture of every screen of the console and of the account page, light and dark, wide and
// narrow, to `screens/`. With `-- account`, it writes only the pictures of the account page.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { ensureChromium } from '#scripts/servers/ensure-chromium.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { setup, teardown } from '#test/support/global-setup.ts'
import { createAccountDemo, goTo, signInWithKey } from './support/account-demo.ts'
import { CHROMIUM_VARIABLE, openBrowser, openPage } from './support/browser.ts'
import { signIn } from './support/console-server.ts'
import { startDemo } from './support/demo.ts'

const FOLDER = join(REPOSITORY, 'screens')
const SIZES = [
  { name: '1280', width: 1280, height: 800 },
  { name: '375', width: 375, height: 720 },
] as const

type Shoot = (screen: string) => Promise<void>

const path = await ensureChromium({ say: console.error })
if (path === null) throw new Error('pictures need Chromium')
process.env[CHROMIUM_VARIABLE] = path
mkdirSync(FOLDER, { recursive: true })
await setup()
const browser = await openBrowser()
try {
  if (!process.argv.includes('account')) await shootConsole()
  await shootAccountPage()
} finally {
  await browser.close()
  await teardown()
}

async function shootConsole(): Promise<void> {
  const demo = await startDemo()
  try {
    const { page } = await openPage(browser, {})
    await signIn(page, demo.served.origin)
    const cookies = await page.context().cookies()
    await inEachForm(browser, async (opened, shoot) => {
      await opened.context().addCookies(cookies)
      for (const [screen, hash] of Object.entries(demo.screens)) {
        await opened.goto(`${demo.served.origin}/${hash}`)
        await opened.getByRole('heading', { level: 1 }).waitFor()
        await opened.waitForLoadState('load')
        await shoot(screen)
      }
    })
  } finally {
    await demo.stop()
  }
}

async function shootAccountPage(): Promise<void> {
  const demo = await createAccountDemo()
  await inEachForm(browser, async (opened, shoot) => {
    await opened.goto(demo.url)
    await opened.getByLabel('API key').fill('mr_live_wrong')
    await opened.getByRole('button', { name: 'Sign in' }).click()
    await opened.getByRole('alert').waitFor()
    await shoot('own-sign-in')
    for (const [kind, key] of Object.entries(demo.keys)) {
      await signInWithKey(opened, demo.url, key)
      for (const [screen, hash] of Object.entries(demo.screens)) {
        await goTo(opened, hash)
        await shoot(`own-${kind}-${screen}`)
      }
    }
  })
}

/**
 * Runs `run` in each theme and width. `shoot` waits for the first answers and one more tick, then takes the picture.
 */
async function inEachForm(of: Browser, run: (page: Page, shoot: Shoot) => Promise<void>): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const { name, ...viewport } of SIZES) {
      const options: BrowserContextOptions = { colorScheme, viewport }
      const { page, problems } = await openPage(of, options)
      await run(page, async (screen) => {
        await page.waitForTimeout(1_500)
        const file = join(FOLDER, `${screen}-${colorScheme}-${name}.png`)
        await page.screenshot({ path: file, fullPage: true })
      })
      console.log(`${colorScheme}, ${name} px: ${problems.length} problems ${problems.join('; ')}`)
      await page.context().close()
    }
  }
}

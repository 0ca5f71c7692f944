// The page's side of the console's bounds, with a picture of 200 models and 500 workers that does not exist.
import type { CDPSession } from 'playwright-core'
import { setup, teardown } from '#test/support/global-setup.ts'
import { startCluster } from '#test/support/cluster.ts'
import { CHROMIUM_VARIABLE, openBrowser, openPage } from '#test/console/support/browser.ts'
import { signIn, startConsole } from '#test/console/support/console-server.ts'
import { createFakeLive } from '#test/console/support/fake-live.ts'
import { createFakePicture } from '#test/console/support/fake-picture.ts'
import { ensureChromium } from '#scripts/servers/ensure-chromium.ts'

const MODELS = Array.from({ length: 200 }, (_, index) => `model-${index}`)
const SECONDS = 30

/** Long tasks are those above 50 ms; each drawing is measured by the time between its frame and the next idle moment. */
const WATCH = `(() => {
  window.tickMs = []
  const original = window.requestAnimationFrame.bind(window)
  window.requestAnimationFrame = (run) => original((at) => {
    const begin = performance.now()
    run(at)
    document.body.offsetHeight
    window.tickMs.push(performance.now() - begin)
  })
})()`

const path = await ensureChromium({ say: console.error })
if (path === null) throw new Error('this bench needs Chromium')
process.env[CHROMIUM_VARIABLE] = path
await setup()
const cluster = await startCluster({ gateways: 0 })
const picture = createFakePicture({ models: MODELS, workersPerModel: 3, accounts: [] })
const served = await startConsole({ billingUrl: cluster.adminUrl, serveLive: createFakeLive(picture).serve })
const browser = await openBrowser()
try {
  const { page } = await openPage(browser)
  await page.addInitScript(WATCH)
  await signIn(page, served.origin)
  const debug = await page.context().newCDPSession(page)
  await page.goto(`${served.origin}/`)
  const painted = await page.evaluate<number>(
    `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`,
  )
  console.log(`first paint ${Math.round(painted)} ms (bound 500)`)
  for (const [name, hash] of [
    ['Now, 200 models', '#/'],
    ['Workers, 600 engines', '#/workers'],
  ] as const) {
    await page.goto(`${served.origin}/${hash}`)
    await page.getByRole('table').first().waitFor()
    await page.evaluate('window.tickMs.length = 0')
    await page.waitForTimeout(SECONDS * 1_000)
    const ticks = (await page.evaluate<number[]>('window.tickMs')).toSorted((a, b) => a - b)
    if (ticks.length < SECONDS / 2) throw new Error(`only ${ticks.length} ticks were drawn`)
    const p95 = ticks[Math.floor(ticks.length * 0.95)] ?? Number.NaN
    console.log(
      `${name}: tick p95 ${p95.toFixed(1)} ms of ${ticks.length} (bound 50), heap ${await heapMb(debug)} MB (bound 40)`,
    )
  }
} finally {
  await browser.close()
  await served.stop()
  await cluster.stop()
  await teardown()
}

async function heapMb(debug: CDPSession): Promise<string> {
  await debug.send('HeapProfiler.collectGarbage')
  const { usedSize } = await debug.send('Runtime.getHeapUsage')
  return (usedSize / 1024 / 1024).toFixed(1)
}

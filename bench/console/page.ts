// Measures the page of the console with invented data of 200 models and 600 workers, and compares the figures with the
// bounds that the page must keep.
import type { CDPSession } from 'playwright-core'
import { setup, teardown } from '#test/support/global-setup.ts'
import { startCluster } from '#test/support/cluster.ts'
import { CHROMIUM_VARIABLE, openBrowser, openPage } from '#test/console/support/browser.ts'
import { signIn, startConsole } from '#test/console/support/console-server.ts'
import { createFakeLive } from '#test/console/support/fake-live.ts'
import { createFakePicture } from '#test/console/support/fake-picture.ts'
import { ensureChromium } from '#scripts/servers/ensure-chromium.ts'
import { printBars, type Bar } from '../harness/bars.ts'

const MODELS = Array.from({ length: 200 }, (_, index) => `model-${index}`)
const SECONDS = 30

/**
 * Measures each drawing of the page: the time of the callback of an animation frame, plus the time of the layout that
 * follows the callback.
 */
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
const bars: Bar[] = []
try {
  const { page } = await openPage(browser)
  await page.addInitScript(WATCH)
  const debug = await page.context().newCDPSession(page)
  await debug.send('Network.enable')
  const table = page.getByRole('table').first()
  const cold = await countTransfers(debug, async () => {
    await signIn(page, served.origin)
    await table.waitFor()
  })
  await page.goto('about:blank')
  const warm = await countTransfers(debug, async () => {
    await page.goto(`${served.origin}/`)
    await table.waitFor()
  })
  bars.push(
    { title: 'cold visit, signing in included', unit: ' requests', bar: 25, values: [cold.requests] },
    { title: 'cold visit, over the wire', unit: ' KB', bar: 90, values: [cold.bytes / 1_000] },
    { title: 'warm visit, over the wire', unit: ' KB', bar: 5, values: [warm.bytes / 1_000] },
  )
  const painted = await page.evaluate<number>(
    `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`,
  )
  bars.push({ title: 'first paint, warm', unit: ' ms', bar: 500, values: [painted] })
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
    bars.push(
      { title: `${name}: tick p95`, unit: ' ms', bar: 50, values: [p95] },
      { title: `${name}: heap after ${SECONDS} s`, unit: ' MB', bar: 40, values: [await heapMb(debug)] },
    )
  }
  if (!printBars(bars)) process.exitCode = 1
} finally {
  await browser.close()
  await served.stop()
  await cluster.stop()
  await teardown()
}

async function heapMb(debug: CDPSession): Promise<number> {
  await debug.send('HeapProfiler.collectGarbage')
  const { usedSize } = await debug.send('Runtime.getHeapUsage')
  return usedSize / 1e6
}

/** Counts the complete answers on the wire during `visit`. The live stream does not end and is not counted. */
async function countTransfers(
  debug: CDPSession,
  visit: () => Promise<void>,
): Promise<{ requests: number; bytes: number }> {
  const count = { requests: 0, bytes: 0 }
  const onResponse = ({ response }: { response: { fromDiskCache?: boolean } }) => {
    if (response.fromDiskCache !== true) count.requests += 1
  }
  const onCached = () => (count.requests -= 1)
  const onFinished = ({ encodedDataLength }: { encodedDataLength: number }) =>
    (count.bytes += encodedDataLength)
  debug.on('Network.responseReceived', onResponse)
  debug.on('Network.requestServedFromCache', onCached)
  debug.on('Network.loadingFinished', onFinished)
  await visit()
  debug.off('Network.responseReceived', onResponse)
  debug.off('Network.requestServedFromCache', onCached)
  debug.off('Network.loadingFinished', onFinished)
  return count
}

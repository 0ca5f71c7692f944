// Measures the time from the claim of a request in a worker until an operator's page shows the request in the row of
// its model.
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { ensureChromium } from '#scripts/servers/ensure-chromium.ts'
import { CHROMIUM_VARIABLE, openBrowser, openPage } from '#test/console/support/browser.ts'
import { signIn } from '#test/console/support/console-server.ts'
import { startLiveCluster, startStream } from '#test/console/support/live-cluster.ts'
import { setup, teardown } from '#test/support/global-setup.ts'
import { until } from '#test/support/until.ts'

const ROUNDS = 20
const BOUND_MS = 2_500

/** Resolves with the Unix time at which the model's row shows that `count` requests run. */
const whenRunning = (count: number) => `new Promise((resolve) => {
  const look = () => {
    const cells = document.querySelector('a[href="#/model/demo-chat"]')?.closest('tr')?.querySelectorAll('td') ?? []
    if ([...cells].some((cell) => cell.textContent.trim().startsWith('${count}/'))) resolve(Date.now())
    else requestAnimationFrame(look)
  }
  look()
})`

const path = await ensureChromium({ say: console.error })
if (path === null) throw new Error('this bench needs Chromium')
process.env[CHROMIUM_VARIABLE] = path
await setup()
const live = await startLiveCluster({ workers: [[{ model: 'demo-chat', files: 'demo', stepMs: 50 }]] })
const browser = await openBrowser()
try {
  const { apiKey } = await live.cluster.createAccount('10')
  const { page } = await openPage(browser)
  await signIn(page, live.origin)
  const visibleMs: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await page.evaluate(whenRunning(0))
    const visible = page.evaluate<number>(whenRunning(1))
    const stream = await startStream(live.cluster, { apiKey, tokens: 400 })
    const atMs = await visible
    stream.leave()
    await stream.end
    visibleMs.push(atMs - (await claimedAt(stream.id)))
  }
  visibleMs.sort((a, b) => a - b)
  const p95 = visibleMs[Math.ceil(ROUNDS * 0.95) - 1] ?? Number.NaN
  const [least, most] = [visibleMs.at(0), visibleMs.at(-1)]
  console.log(
    `a claim is visible after p95 ${p95} ms (bound ${BOUND_MS}), ${least} to ${most} ms in ${ROUNDS} rounds`,
  )
  if (p95 > BOUND_MS) process.exitCode = 1
} finally {
  await browser.close()
  await live.stop()
  await teardown()
}

/**
 * Returns the Unix time of a request's claim, in ms. It is the time of the request's arrival, with which its id begins
 * (UUIDv7), plus its wait, which billing has recorded.
 */
async function claimedAt(id: string): Promise<number> {
  const arrivedMs = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
  let waitedMs: number | null = null
  await until(async () => {
    const { timing } = await live.cluster.admin.call(ADMIN.readRequest, { request: id })
    waitedMs = timing?.waitedMs ?? null
    return waitedMs !== null
  })
  return arrivedMs + (waitedMs ?? 0)
}

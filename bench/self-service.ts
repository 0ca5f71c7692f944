// Measures how long an API client waits for its own data. Many keys call `GET /v1/key`, each about once a second,
// because a gateway serves one such request a second for each key.
//
//   npm run bench:self-service [-- --keys 40 --seconds 20]
//
// Prints the measured value beside the required value, which is the bar. The exit code is 1 if the bar is missed.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { startCluster } from '#test/support/cluster.ts'
import { setup, teardown } from '#test/support/global-setup.ts'
import { printBars } from './harness/bars.ts'
import { quantile } from './harness/spread.ts'

const { values } = parseArgs({
  options: { keys: { type: 'string', default: '40' }, seconds: { type: 'string', default: '20' } },
})
const seconds = Number(values.seconds)
/** Slightly longer than a second, because a gateway serves one such request a second for each key. */
const PACE_MS = 1_050
const WARM_UP = 3

await setup()
const cluster = await startCluster({})
try {
  const { id: account } = await cluster.createAccount('10')
  const secrets: string[] = []
  for (let number = 0; number < Number(values.keys); number += 1) {
    const { secret } = await cluster.admin.call(ADMIN.createKey, { account, name: `key ${number}` })
    secrets.push(secret)
  }
  const measured = await Promise.all(
    secrets.map(async (secret, place) => {
      await sleep((PACE_MS * place) / secrets.length)
      const tookMs: number[] = []
      for (let turn = 0; turn * PACE_MS < seconds * 1_000; turn += 1) {
        const ms = await askForKey(secret)
        if (turn >= WARM_UP) tookMs.push(ms)
        await sleep(PACE_MS - ms)
      }
      return tookMs
    }),
  )
  const sorted = measured.flat().toSorted((a, b) => a - b)
  console.log(`${sorted.length} reads, p50 ${quantile(sorted, 0.5).toFixed(1)} ms`)
  const bar = { title: 'GET /v1/key, p95', unit: ' ms', bar: 20, values: [quantile(sorted, 0.95)] }
  if (!printBars([bar])) process.exitCode = 1
} finally {
  await cluster.stop()
  await teardown()
}

async function askForKey(secret: string): Promise<number> {
  const beginMs = performance.now()
  const response = await fetch(`${cluster.baseUrl}/key`, { headers: { authorization: `Bearer ${secret}` } })
  await response.json()
  if (!response.ok) throw new Error(`GET /v1/key answered ${response.status}`)
  return performance.now() - beginMs
}

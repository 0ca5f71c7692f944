import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultyCluster } from '#test/support/faulty-cluster/faulty-cluster.ts'
import type { Books } from './books.ts'
import { checkKeys } from './check-keys.ts'
import { checkProcesses } from './check-processes.ts'

/** The default of `FREE_TOKENS_PER_HOUR`. */
const FREE_TOKENS = 100_000

/**
 * Waits until every app is ready and no credits are held, then checks the books, the keys of the queue Redis and the
 * processes. `note` has the figures for people.
 */
export async function checkAtRest(
  { cluster, books }: { cluster: FaultyCluster; books: Books },
  { limitMs }: { limitMs: number },
): Promise<{ problems: string[]; note: string }> {
  const beganMs = performance.now()
  const giveUpMs = beganMs + limitMs
  const problems: string[] = []

  for (const app of [...cluster.gateways, ...cluster.workers, ...cluster.billings]) {
    let isReady = false
    while (!(isReady = await answersReady(app.opsUrl())) && performance.now() < giveUpMs) await sleep(200)
    if (!isReady) problems.push(`${app.name} is not ready although nothing is disturbed`)
  }

  let holds = await books.openHolds()
  while (holds > 0 && performance.now() < giveUpMs) {
    await sleep(500)
    holds = await books.openHolds()
  }
  if (holds > 0) problems.push(`${holds} holds are left`)
  const restedS = (performance.now() - beganMs) / 1_000

  const counts = Object.entries(await cluster.reconcile())
  if (counts.length < 5) problems.push('the reconciliation asks nothing')
  for (const [question, rows] of counts) if (rows !== 0) problems.push(`reconciliation: ${rows} ${question}`)

  const freeTokens = await books.mostFreeTokens()
  if (freeTokens > FREE_TOKENS) problems.push(`${freeTokens} tokens of an account were free in an hour`)

  const keys = await checkKeys(cluster.queueUrl)
  const processes = checkProcesses(cluster)
  problems.push(...keys.problems, ...processes.problems)
  const alarms = JSON.stringify(await books.alarms())
  return {
    problems,
    note:
      `nothing held after ${restedS.toFixed(1)} s, ${keys.keys} keys, ` +
      `largest process ${processes.largestMib.toFixed(0)} MiB, free tokens ${freeTokens}, settlement alarms ${alarms}`,
  }
}

async function answersReady(opsUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(2_000) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}

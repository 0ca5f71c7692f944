import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultyCluster } from '#test/support/faulty-cluster/faulty-cluster.ts'
import { call } from './call.ts'
import type { Done } from './run-faults.ts'
import type { Fault } from './schedule.ts'

/** The demo persona repeats its message after these words: so the output kills, not the prompt. */
const POISON = 'You said: KILL'
const WITHOUT = { poison: null, poisonAfterTokens: 0, restartAfterMs: null }
const RESTART_AFTER_MS = 500
const HANG_MS = 60_000
/** Of the core's death, in the simulator's log. */
const DEATH = 'engine core died'
/** Its second engine; and a third one where it was not alone on trial when that died. */
const MOST_ENGINES = 3

/**
 * Sends a request that kills each engine amid its output, and waits for its end. Returns what was wrong: it ends with an
 * error, after two engines or three. Beside another fault only that it ends.
 */
export async function runKiller(
  cluster: FaultyCluster,
  { afterTokens, gateway: number }: Extract<Fault, { kind: 'killer' }>,
  beside: () => readonly Done[],
): Promise<string | null> {
  const gateway = cluster.gateways.find(({ name }) => name === `gateway-${number}`)
  if (gateway === undefined) throw new Error(`there is no gateway-${number}`)
  const apiKey = await createAccount(cluster)
  if (apiKey === null) return null
  const deaths = countDeaths(cluster)
  await changeAll(cluster, {
    poison: POISON,
    poisonAfterTokens: afterTokens,
    restartAfterMs: RESTART_AFTER_MS,
  })
  try {
    const killing = await call({ gateway, apiKey, ask: ASK, hangMs: HANG_MS })
    const engines = countDeaths(cluster) - deaths
    const seen = `the killer ended by ${killing.end}, ${killing.status}, after ${engines} engines`
    if (killing.end === 'hang') return seen
    if (beside().length > 0) return null
    const isError = killing.body.includes('"upstream_error"')
    return isError && engines <= MOST_ENGINES ? null : `${seen}: ${killing.body.slice(-300)}`
  } finally {
    await changeAll(cluster, WITHOUT)
    // An engine that died last starts again with its next change only.
    await sleep(RESTART_AFTER_MS)
  }
}

const ASK = {
  name: 'a killer',
  model: 'demo-chat',
  path: '/chat/completions',
  shape: 'chat-stream',
  headers: {},
  body: {
    model: 'demo-chat',
    messages: [{ role: 'user', content: `KILL ${'word '.repeat(80)}` }],
    stream: true,
    temperature: 0,
  },
  guided: false,
} as const

/** A key of an account of its own, because an account that kills is barred; null while billing is disturbed. */
async function createAccount(cluster: FaultyCluster): Promise<string | null> {
  try {
    return (await cluster.createAccount('1')).apiKey
  } catch {
    return null
  }
}

async function changeAll(cluster: FaultyCluster, change: object): Promise<void> {
  for (const simulator of cluster.simulators.filter((each) => each.isUp()))
    await cluster.changeEngines(simulator, change)
}

const countDeaths = ({ simulators }: FaultyCluster) =>
  simulators
    .filter((each) => each.isUp())
    .reduce((sum, each) => sum + (each.process().logs?.().split(DEATH).length ?? 1) - 1, 0)

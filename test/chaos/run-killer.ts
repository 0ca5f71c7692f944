import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultyCluster } from '#test/support/faulty-cluster/faulty-cluster.ts'
import { call } from './call.ts'
import type { Done } from './run-faults.ts'
import type { Fault } from './schedule.ts'

/**
 * The demo model writes these words before the message that it repeats. So the output kills the engine, not the prompt.
 */
const POISON = 'You said: KILL'
const WITHOUT = { poison: null, poisonAfterTokens: 0, restartAfterMs: null }
const RESTART_AFTER_MS = 500
const HANG_MS = 60_000
/** The line in the simulator's log about the death of the engine's core. */
const DEATH = 'engine core died'
/** Normally the generation ends after its second engine; after a third if it did not run alone when the second died. */
const MOST_ENGINES = 3

/**
 * Sends a request that kills each engine in the middle of its output, and waits until the request ends. It must end
 * with an error, after two or three engines. Beside another fault, it must only end. Returns the violations.
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
    // The engine that died last starts again only when its faults are changed next.
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

/** Creates an account with a key, because an account whose requests kill engines is barred. Null if billing fails. */
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

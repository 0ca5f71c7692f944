import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { startCluster, type EnginePlan, type TestCluster } from '#test/support/cluster.ts'
import { scratchFolder } from '#test/support/run-folder.ts'
import { HOME_WAIT_ENDS } from '#apps/gateway/generation/dispatch/own-job.ts'

/**
 * The way in which turns come to workers:
 * - `warm`: turns wait for the worker of the turn before, and first turns for the least loaded worker.
 * - `random`: any worker takes them.
 * - `sticky`: each engine has a model of its own, so a conversation stays where it began. Only a scheduler that moves
 *   caches between engines could have fewer uncached tokens.
 */
export type SideName = 'warm' | 'random' | 'sticky'

export type Side = {
  readonly name: SideName
  readonly cluster: TestCluster
  /** Returns the model of a conversation. */
  modelOf(conversation: number): string
}

const MODEL = 'demo-chat'

export async function startSide(
  name: SideName,
  options: {
    workers: number
    engine: Omit<EnginePlan, 'model' | 'files'>
    /** The number of slots of a worker's engine, if they differ. */
    slotsOf?: (worker: number) => number
  },
): Promise<Side> {
  const { workers, engine, slotsOf } = options
  const models = name === 'sticky' ? Array.from({ length: workers }, (_, at) => `${MODEL}-${at}`) : [MODEL]
  const modelOf = (index: number) => models[index % models.length] ?? MODEL
  const cluster = await startCluster({
    logLevel: 'warn',
    billingEnv: { CATALOG_FILE: writeCatalog(models) },
    gatewayEnv: { PREFIX_AFFINITY: name === 'warm' ? 'on' : 'off' },
    workers: Array.from({ length: workers }, (_, at) => [
      {
        model: modelOf(at),
        files: 'demo',
        ...engine,
        ...(slotsOf !== undefined && { maxNumSeqs: slotsOf(at) }),
      },
    ]),
  })
  return { name, cluster, modelOf }
}

/** Writes a catalog in which each of these models costs as much as the demo model. */
function writeCatalog(models: readonly string[]): string {
  const Catalog = z.object({ models: z.array(z.looseObject({ id: z.string() })) })
  const catalog = Catalog.parse(JSON.parse(readFileSync('deploy/catalog.demo.json', 'utf8')))
  const demo = catalog.models.find(({ id }) => id === MODEL)
  const path = join(scratchFolder('catalog'), 'catalog.json')
  writeFileSync(path, JSON.stringify({ models: models.map((id) => ({ ...demo, id })) }))
  return path
}

/** Returns how many waits for a home of the first gateway ended in each way. */
export async function readHomeWaits({ cluster }: Side): Promise<Readonly<Record<string, number>>> {
  const [gateway] = cluster.gateways
  if (gateway === undefined) throw new Error('the cluster has no gateway')
  const counts = HOME_WAIT_ENDS.map(
    async (end) =>
      [end, await cluster.metric(gateway, 'millrace_gateway_home_waits_total', { end })] as const,
  )
  return Object.fromEntries(await Promise.all(counts))
}

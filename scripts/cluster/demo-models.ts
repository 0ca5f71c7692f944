import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CatalogFile } from '#libs/contracts/model-spec.ts'
import { freePort } from '../servers/free-port.ts'
import { REPOSITORY } from '../servers/start-app.ts'
import type { ClusterOptions } from './cluster-options.ts'

export const CATALOG = join(REPOSITORY, 'deploy/catalog.demo.json')
export const CHAT_MODEL = 'demo-chat'

/** Two engines for the chat model, so that a worker can be killed in the middle of a stream. */
const MODELS = [
  { model: CHAT_MODEL, family: 'demo', kind: 'chat', engines: 2 },
  { model: 'millrace/demo-chat', family: 'demo', kind: 'chat', engines: 1 },
  { model: 'demo-reasoning', family: 'demo-reasoning', kind: 'chat', engines: 1 },
] as const

const RUNNING_AT_ONCE = 8

/**
 * The values of SIMULATOR_ENGINES and WORKERS: one simulated engine and one worker per line, or, for the chat
 * model when a real engine is given, one worker on that.
 */
export async function planModels(
  engine: ClusterOptions['engine'],
): Promise<{ engines: object[]; workers: object[] }> {
  const catalog = CatalogFile.parse(JSON.parse(readFileSync(CATALOG, 'utf8')))
  const plan: { engines: object[]; workers: object[] } = { engines: [], workers: [] }
  for (const { model, family, kind, engines } of MODELS) {
    const maxModelLen = catalog.models.find((spec) => spec.id === model)?.contextWindow
    if (maxModelLen === undefined) throw new Error(`${CATALOG} has no model ${model}`)
    if (model === CHAT_MODEL && engine !== undefined) {
      plan.workers.push({ model, family: engine.family, engine: engine.address })
      continue
    }
    for (let index = 0; index < engines; index += 1) {
      const listen = `127.0.0.1:${await freePort()}`
      plan.engines.push({ listen, model, family, kind, maxNumSeqs: RUNNING_AT_ONCE, maxModelLen })
      plan.workers.push({ model, family, engine: listen })
    }
  }
  return plan
}

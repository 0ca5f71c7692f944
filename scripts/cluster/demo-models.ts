import { join } from 'node:path'
import { readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { freePort } from '../servers/free-port.ts'
import { REPOSITORY } from '../servers/start-app.ts'
import type { ClusterOptions } from './cluster-options.ts'
import { SANDBOX_ENGINES } from './sandbox-models.ts'

/**
 * The paths are relative to the root of the repository, where the apps run. An absolute path could contain a comma,
 * which separates the paths in CATALOG_FILE.
 */
const CATALOG_FILES = ['deploy/catalog.demo.json', 'deploy/catalog.sandbox.json']
export const CATALOG = CATALOG_FILES.join(',')
export const CHAT_MODEL = 'demo-chat'

/** Two engines for the chat model, so that a worker can be killed in the middle of a stream. */
const ENGINES = [
  { model: CHAT_MODEL, files: 'demo', kind: 'chat', maxNumSeqs: 8 },
  { model: CHAT_MODEL, files: 'demo', kind: 'chat', maxNumSeqs: 8 },
  { model: 'millrace/demo-chat', files: 'demo', kind: 'chat', maxNumSeqs: 8 },
  { model: 'demo-reasoning', files: 'demo-reasoning', kind: 'chat', maxNumSeqs: 8 },
  { model: 'demo-embed', files: 'demo', kind: 'embedding', maxNumSeqs: 8 },
  ...SANDBOX_ENGINES,
] as const

/**
 * Returns the values of SIMULATOR_ENGINES and WORKERS: one simulated engine and one worker for each entry of `ENGINES`.
 * If a real engine is given, it takes the place of the simulated engines of the chat model, with one worker.
 */
export async function planModels(
  engine: ClusterOptions['engine'],
): Promise<{ engines: object[]; workers: object[] }> {
  const catalog = await readCatalogFiles(CATALOG_FILES.map((file) => join(REPOSITORY, file)))
  const plan: { engines: object[]; workers: object[] } = { engines: [], workers: [] }
  if (engine !== undefined) {
    plan.workers.push({ model: CHAT_MODEL, files: engine.files, engine: engine.address })
  }
  for (const simulated of ENGINES) {
    const { model, files } = simulated
    if (model === CHAT_MODEL && engine !== undefined) continue
    const maxModelLen = catalog.find((spec) => spec.id === model)?.contextWindow
    if (maxModelLen === undefined) throw new Error(`${CATALOG} has no model ${model}`)
    const listen = `127.0.0.1:${await freePort()}`
    plan.engines.push({ listen, maxModelLen, ...simulated })
    plan.workers.push({ model, files, engine: listen })
  }
  return plan
}

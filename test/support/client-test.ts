import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as base } from 'vitest'
import { SANDBOX_ENGINES } from '#scripts/cluster/sandbox-models.ts'
import { startCluster, type TestAccount, type TestCluster } from './cluster.ts'
import { createRecordingFetch, type Exchange } from './recording-fetch.ts'
import { scratchFolder } from './run-folder.ts'

/** Runs one generation at a time without a queue: a second one is refused, because the model is busy. */
export const NARROW_MODEL = 'narrow-chat'

/** How a client reaches the cluster. `fetch` records its exchanges and refuses other hosts. */
export type ClientAccess = {
  readonly cluster: TestCluster
  readonly account: TestAccount
  readonly baseUrl: string
  readonly apiKey: string
  readonly fetch: typeof fetch
  readonly exchanges: readonly Exchange[]
}

let starting: Promise<TestCluster> | undefined

/**
 * Tests of clients: all files of the project share one cluster, because its files run one after another in one
 * process; each file has an account of its own, each test a `fetch` of its own.
 */
export const test = base
  .extend('cluster', { scope: 'worker' }, async ({}, { onCleanup }) => {
    // A failed start is not repeated for every test.
    starting ??= startClientCluster()
    const cluster = await starting
    onCleanup(() => cluster.stop())
    return cluster
  })
  .extend('account', { scope: 'file' }, ({ cluster }) => cluster.createAccount('100'))
  .extend('access', ({ cluster, account }): ClientAccess => {
    const { fetch, exchanges } = createRecordingFetch()
    return { cluster, account, baseUrl: cluster.baseUrl, apiKey: account.apiKey, fetch, exchanges }
  })

async function startClientCluster(): Promise<TestCluster> {
  return await startCluster({
    workers: [
      [
        { model: 'demo-chat', files: 'demo', ...WIDE, ...QUICK },
        { model: 'millrace/demo-chat', files: 'demo', ...WIDE, ...QUICK },
        { model: 'demo-reasoning', files: 'demo-reasoning', ...WIDE, ...QUICK },
        { model: 'demo-embed', files: 'demo', kind: 'embedding' },
        { model: NARROW_MODEL, files: 'demo', maxNumSeqs: 1, ...WIDE },
        ...SANDBOX_ENGINES.map((engine) => ({ ...engine, ...WIDE, stepMs: 10 })),
      ],
    ],
    billingEnv: { CATALOG_FILE: [DEMO_CATALOG, 'deploy/catalog.sandbox.json', writeCatalog()].join(',') },
    // No waiting for a slot: a model without a free one is busy at once.
    gatewayEnv: { DRAIN_BOUND_MS: '0', ASSUMED_GENERATION_MS: '500' },
  })
}

const DEMO_CATALOG = 'deploy/catalog.demo.json'
const QUICK = { stepMs: 2 }
/** As the catalogs have it, for clients with long instructions. */
const WIDE = { maxModelLen: 32_768 }

/** The catalog of this cluster's own model; gives the file's path. */
function writeCatalog(): string {
  const { models }: { models: { id: string }[] } = JSON.parse(readFileSync(DEMO_CATALOG, 'utf8'))
  const demo = models.find(({ id }) => id === 'demo-chat')
  const path = join(scratchFolder('catalog'), 'catalog.json')
  writeFileSync(path, JSON.stringify({ models: [{ ...demo, id: NARROW_MODEL }] }))
  return path
}

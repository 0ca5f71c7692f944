import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { EngineConfig } from '#apps/simulator/config.ts'
import { readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { planModels } from '#scripts/cluster/demo-models.ts'
import { SANDBOX_ENGINES } from '#scripts/cluster/sandbox-models.ts'

const Worker = z.object({ model: z.string(), files: z.string(), engine: z.string() })

const isSandbox = ({ model }: { model: string }) => model.startsWith('test/')

/** Returns the engines without the fields that differ between two ways to run the same engine. */
const withoutAddress = (engines: readonly EngineConfig[]) =>
  engines.map((engine) => ({ ...engine, listen: '' }))

const portOf = (address: string) => address.split(':')[1]

const DOCUMENT = readFileSync('docs/sandbox.md', 'utf8')

const planned = z.array(EngineConfig).parse((await planModels(undefined)).engines)

/** Returns the JSON value of a folded block in deploy/compose.yaml. */
function readCompose(variable: string): unknown {
  const compose = readFileSync('deploy/compose.yaml', 'utf8')
  const block = new RegExp(`${variable}: >-\\n((?: {8,}.*\\n)+)`, 'u').exec(compose)?.[1]
  return JSON.parse(block ?? '')
}

/** Returns the values of the two JSON blocks in docs/sandbox.md: engines and workers. */
function readDocument(): [unknown, unknown] {
  const [engines = '', workers = ''] = Array.from(
    DOCUMENT.matchAll(/```json\n(.*?)```/gsu),
    ([, json]) => json,
  )
  return [JSON.parse(engines), JSON.parse(workers)]
}

test('npm start serves each sandbox model that needs an engine, with the catalog’s context window', async () => {
  const sandbox = await readCatalogFiles(['deploy/catalog.sandbox.json'])
  const unserved = sandbox.filter(({ id }) => !planned.some(({ model }) => model === id))
  expect(unserved.map(({ id, fixedState }) => [id, fixedState])).toEqual([
    ['test/busy', 'busy'],
    ['test/warming', 'warming'],
    ['test/unavailable', null],
  ])
  const served = planned.filter(isSandbox).map(({ model, maxModelLen }) => [model, maxModelLen])
  expect(served).toEqual(SANDBOX_ENGINES.map(({ model }) => [model, 32_768]))
})

test('the slow model waits 20 s, the long one writes 4,000 tokens, and the short one is cut', async () => {
  const behaviours = Object.fromEntries(planned.map(({ model, behaviour }) => [model, behaviour]))
  expect(behaviours['test/slow']).toEqual({ type: 'waits', firstTokenMs: 20_000 })
  expect(behaviours['test/long']).toEqual({ type: 'writes', tokens: 4_000 })
  const sandbox = await readCatalogFiles(['deploy/catalog.sandbox.json'])
  const mostOutput = Object.fromEntries(sandbox.map(({ id, maxOutputTokens }) => [id, maxOutputTokens]))
  expect(mostOutput['test/long']).toBeGreaterThan(4_000)
  expect(mostOutput['test/length']).toBeLessThan(1_000)
  expect(behaviours['test/length']).toEqual({ type: 'writes', tokens: 1_000 })
})

test('every sandbox model has a price, so that credits are held for it as for any other', async () => {
  for (const { id, inputPriceNano, outputPriceNano } of await readCatalogFiles([
    'deploy/catalog.sandbox.json',
  ])) {
    expect([id, BigInt(inputPriceNano) > 0n, BigInt(outputPriceNano) > 0n]).toEqual([id, true, true])
  }
})

describe.each([
  ['compose.yaml', readCompose('SIMULATOR_ENGINES'), readCompose('WORKERS')],
  ['docs/sandbox.md', ...readDocument()],
])('%s', (_, engines, workers) => {
  const composed = z.array(EngineConfig).parse(engines).filter(isSandbox)

  test('has the same engines as npm start', () => {
    expect(withoutAddress(composed)).toEqual(withoutAddress(planned.filter(isSandbox)))
  })

  test('has a worker on each of them', () => {
    const served = z.array(Worker).parse(workers).filter(isSandbox)
    const places = served.map(({ model, files, engine }) => [model, files, portOf(engine)])
    expect(places).toEqual(composed.map(({ model, files, listen }) => [model, files, portOf(listen)]))
  })
})

test('the table of docs/sandbox.md has each model of the catalog', async () => {
  const rows = DOCUMENT.matchAll(/^\| `(test\/[^`]+)` \|/gmu)
  const sandbox = await readCatalogFiles(['deploy/catalog.sandbox.json'])
  expect(Array.from(rows, ([, model]) => model)).toEqual(sandbox.map(({ id }) => id))
})

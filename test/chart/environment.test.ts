import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadConfig } from '#libs/config/load-config.ts'
import { CatalogFile } from '#libs/contracts/model-spec.ts'
import { ModelManifest } from '#libs/model-files/model-manifest.ts'
import { CHART, VALUE_SETS } from './chart-values.ts'
import { ofKind, renderSet, type KubeObject } from './helm.ts'
import { environmentOf, toWorkloads, type Container } from './workloads.ts'

// The variables that the chart sets are the variables that the apps read: each app's own schema parses the environment
// and the files of its containers.

const REPOSITORY = join(CHART, '../../..')

/** The contents of the mounted files of Secrets, which the chart never sees. */
const SECRETS: Readonly<Record<string, string>> = {
  QUEUE_REDIS_URL: 'redis://queue',
  BUS_REDIS_URL: 'redis://bus',
  QUEUE_REDIS_SENTINEL_PASSWORD: 'sentinel-password',
  DATABASE_URL: 'postgres://billing@db/billing',
  DATABASE_OWNER_URL: 'postgres://owner@db/billing',
  DATABASE_DIRECT_URL: 'postgres://billing@db-direct/billing',
  ADMIN_TOKEN: 'a'.repeat(16),
  RECEIPT_SECRETS: 'b'.repeat(32),
  REASONING_SECRETS: 'c'.repeat(32),
}

/** Variables that Kubernetes sets: fields of the pod, and the API server's address. */
const BY_KUBERNETES = {
  WORKER_NAME: 'pod',
  POD_UID: 'uid',
  NODE_NAME: 'node',
  KUBERNETES_SERVICE_HOST: '10.0.0.1',
}

/** Matches variables of Node itself. */
const OF_NODE = /^NODE_(?:OPTIONS|EXTRA_CA_CERTS)$/

describe.each(VALUE_SETS)('the value set %s', (set) => {
  test('every variable of a container is one that its app knows, with a value that it accepts', async () => {
    const seen = new Set<string>()
    for (const { name, containers } of toWorkloads(await renderSet(set))) {
      for (const container of containers) {
        const app = container.command.length === 0 ? container.args[0] : undefined
        if (app === undefined || !existsSync(join(REPOSITORY, 'apps', app))) continue
        seen.add(app)
        const { MIGRATE, ...environment } = withSecrets(container)
        const schema = await schemaOf(app, MIGRATE === 'only' ? 'Migration' : app)
        if (MIGRATE !== undefined && MIGRATE !== 'only') Object.assign(environment, { MIGRATE })
        const unknown = Object.keys(environment).filter(
          (variable) => !(variable in schema.shape) && !OF_NODE.test(variable),
        )
        expect([name, container.name, unknown]).toEqual([name, container.name, []])
        expect(() => loadConfig(schema, { ...BY_KUBERNETES, ...environment })).not.toThrow()
      }
    }
    const expected = ['billing', 'gateway', 'scaler', 'worker']
    if (set === 'dev') expected.push('simulator')
    if (!['minimal', 'many-models', 'openshift'].includes(set)) expected.push('console')
    expect([...seen].toSorted()).toEqual(expected.toSorted())
  })

  test('the scaler reads its models, workers read theirs, and billing accepts the catalog', async () => {
    const files = filesOf(await renderSet(set))
    const scalerModels: unknown = await import(join(REPOSITORY, 'apps/scaler/scaler-models.ts'))
    const { parseScalerModels } = z
      .looseObject({ parseScalerModels: z.instanceof(Function) })
      .parse(scalerModels)
    expect(() => parseScalerModels(textOf(files, 'models.json'))).not.toThrow()
    for (const [, text] of files.filter(([file]) => file === 'model.json')) {
      const { family } = ModelManifest.parse(JSON.parse(text))
      expect(existsSync(join(REPOSITORY, 'models/families', `${family}.json`))).toBe(true)
    }
    const catalogs = files.filter(([file]) => file === 'catalog.json')
    // In the set `cluster` every price is published by hand. In the other sets gateways and the Job have one catalog
    // each.
    expect(catalogs.length).toBe(set === 'cluster' ? 0 : 2)
    for (const [, text] of catalogs) expect(CatalogFile.parse(JSON.parse(text)).models).not.toEqual([])
  })
})

test('prices become nano-credits exactly', async () => {
  const files = filesOf(await renderSet('production'))
  expect(CatalogFile.parse(JSON.parse(textOf(files, 'catalog.json'))).models).toMatchObject([
    {
      id: 'baai/embed-small',
      inputPriceNano: '20000000',
      cachedInputPriceNano: '20000000',
      outputPriceNano: '0',
    },
    {
      id: 'qwen/qwen3-32b',
      inputPriceNano: '500000000',
      cachedInputPriceNano: '125000000',
      outputPriceNano: '1500000000',
    },
  ])
})

async function schemaOf(app: string, of: string): Promise<z.ZodObject> {
  const module: unknown = await import(join(REPOSITORY, 'apps', app, 'config.ts'))
  const name = `${of[0]?.toUpperCase()}${of.slice(1)}Config`
  return z.instanceof(z.ZodObject).parse(z.record(z.string(), z.unknown()).parse(module)[name])
}

/** Returns the environment, with `NAME` and its value in place of each `NAME_FILE` of a Secret. */
function withSecrets(container: Container): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environmentOf(container)).map(([variable, value]) => {
      const name = variable.replace(/_FILE$/, '')
      if (!value.startsWith('/etc/millrace/secrets/') && !value.startsWith('/etc/millrace/owner/'))
        return [variable, value]
      expect(Object.keys(SECRETS)).toContain(name)
      const mode = environmentOf(container)[name.replace(/URL$/, 'MODE')]
      // The URL names several servers if the mode allows them.
      return [name, mode === 'cluster' ? 'redis://a,redis://b' : (SECRETS[name] ?? '')]
    }),
  )
}

/** Returns the files of the ConfigMaps, without dashboards. */
const filesOf = (objects: readonly KubeObject[]): (readonly [string, string])[] =>
  ofKind(objects, 'ConfigMap')
    .filter(({ metadata }) => metadata.labels['app.kubernetes.io/component'] !== 'monitoring')
    .flatMap(({ data }) => Object.entries(z.record(z.string(), z.string()).parse(data)))

function textOf(files: readonly (readonly [string, string])[], name: string): string {
  const found = files.find(([file]) => file === name)
  if (found === undefined) throw new Error(`there is no ${name}`)
  return found[1]
}

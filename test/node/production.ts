import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { HoldPrices } from '#libs/billing-client/billing-calls.ts'
import { mergeValues, readValues, valuesPath, type Values } from '../chart/chart-values.ts'
import { createAuthority } from '../support/certificates.ts'
import { appImage, applyObjects, kubectl } from './programs.ts'
import { createNamespace, toRelease, type Release } from './release.ts'
import { startServers } from './servers.ts'

export const CHAT = { id: 'qwen/qwen3-32b', pool: 'mr-qwen3-32b', slots: 4, min: 2, max: 4 }
export const EMBEDDING = { id: 'baai/embed-small', pool: 'mr-embed-small', dimensions: 1_024 }

/** The `price` of the chat model in ci/production-values.yaml. */
export const PRICES: HoldPrices = {
  inputPriceNano: 500_000_000n,
  cachedInputPriceNano: 125_000_000n,
  outputPriceNano: 1_500_000_000n,
}

export const GATEWAYS = 2
const ADMIN_TOKEN = randomUUID()
const LITTLE = { requests: { cpu: '10m', memory: '128Mi' } }

/**
 * ci/production-values.yaml, changed for a node with two cores and no GPU: simulated engines, few slots, quick
 * decisions.
 */
export const productionValues = (over: Values = {}): Values =>
  mergeValues(
    mergeValues(readValues(valuesPath('production')), {
      image: { ...appImage(), digest: '' },
      engineDefaults: { simulate: true },
      gateway: { replicas: { min: GATEWAYS, max: 6 }, resources: LITTLE },
      billing: { resources: LITTLE },
      console: { replicas: 1, resources: LITTLE },
      scaler: { resources: LITTLE },
      worker: { resources: LITTLE },
      models: {
        'qwen3-32b': {
          slots: CHAT.slots,
          scale: { min: CHAT.min, max: CHAT.max, floors: [], downWindowSeconds: 10, startSeconds: 10 },
          pod: { extraEnv: [{ name: 'ENGINE_SILENCE_MS', value: '5000' }] },
        },
        'embed-small': { scale: { startSeconds: 10, idleSeconds: 10 } },
      },
    }),
    over,
  )

export type Production = { readonly release: Release; readonly adminToken: string; close(): Promise<void> }

/**
 * Makes a namespace with all objects to which ci/production-values.yaml refers: Secrets with passwords, two logins, and
 * certificates of one authority. Also starts the servers behind them. The release itself is not installed.
 */
export async function prepareProduction(): Promise<Production> {
  const namespace = `production-${randomUUID().slice(0, 8)}`
  const servers = await startServers()
  await createNamespace(namespace)
  const release = toRelease('mr', namespace)
  const secret = (name: string, stringData: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name },
    stringData,
  })
  const authority = createAuthority()
  const certificate = (name: string, host: string) => {
    const { cert, key } = authority.issue(host)
    const [ca, crt, pem] = [authority.ca, cert, key].map((path) => readFileSync(path, 'utf8'))
    return secret(name, { 'ca.crt': ca ?? '', 'tls.crt': crt ?? '', 'tls.key': pem ?? '' })
  }
  await applyObjects(
    secret('millrace-redis', { 'queue-url': servers.queueUrl, 'bus-urls': servers.busUrl }),
    secret('millrace-console-redis', {
      'queue-url': servers.consoleQueueUrl,
      'bus-urls': servers.consoleBusUrl,
    }),
    secret('millrace-db', { url: servers.databaseUrl, 'owner-url': servers.ownerUrl }),
    secret('millrace', { 'admin-token': ADMIN_TOKEN, 'receipt-secrets': randomUUID() }),
    certificate('tls-billing', 'mr-billing'),
    certificate('tls-gateway', 'mr-gateway'),
    certificate('tls-scaler', `mr-scaler.${namespace}.svc`),
    certificate('tls-keda', 'keda'),
  )
  return {
    release,
    adminToken: ADMIN_TOKEN,
    async close() {
      await kubectl(['delete', 'namespace', namespace, '--wait=false'])
      await servers.close()
    },
  }
}

import { test as base } from 'vitest'
import { sharedCluster } from './shared-cluster.ts'

/** The address and the key of the requests of an account. */
export type Endpoint = { readonly baseUrl: string; readonly apiKey: string }

/** A `test` with the shared cluster, and with an account that is the file's own. */
export const test = base
  .extend('cluster', { scope: 'worker' }, () => sharedCluster())
  .extend('account', { scope: 'file' }, ({ cluster }) => cluster.createAccount('100'))
  .extend('endpoint', { scope: 'file' }, ({ cluster, account }): Endpoint => ({
    baseUrl: cluster.baseUrl,
    apiKey: account.apiKey,
  }))

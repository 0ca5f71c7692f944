import { randomUUID } from 'node:crypto'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { startCluster, type TestCluster } from '#test/support/cluster.ts'
import { startConsole, type TestConsole } from './console-server.ts'
import { createFakeLive } from './fake-live.ts'
import { createFakePicture } from './fake-picture.ts'
import { askDemo, waitUntilSettled } from './settled.ts'

const MODELS = ['demo-chat', 'demo-reasoning', 'qwen3-32b', 'gpt-oss-120b']

export type Demo = {
  cluster: TestCluster
  served: TestConsole
  live: ReturnType<typeof createFakeLive>
  /** Every screen by its name, with its address. */
  screens: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** Starts a real cluster with accounts, keys and settled requests, and a console whose live picture is made up. */
export async function startDemo(): Promise<Demo> {
  const cluster = await startCluster({})
  const account = await cluster.createAccount('81.4')
  const { admin } = cluster
  await admin.call(ADMIN.createKey, {
    account: account.id,
    name: 'production <b>bold</b>',
    spendLimit: { amountNano: '25000000000', period: 'month' },
    requestsPerMinute: 600,
  })
  const other = await admin.call(ADMIN.createAccount, {
    name: 'globex & sons, a company with a rather long name',
  })
  const closed = await admin.call(ADMIN.createAccount, { name: 'closed' })
  await admin.call(ADMIN.closeAccount, { account: closed.id, reason: 'left' })
  await admin.call(ADMIN.createCredential, { name: 'ann', role: 'support', reason: randomUUID() })
  const ids: string[] = []
  for (const tokens of [20, 60, 120]) ids.push(await askDemo(cluster, { apiKey: account.apiKey, tokens }))
  const [request = ''] = ids
  await waitUntilSettled(cluster, ids)
  const live = createFakeLive(
    createFakePicture({
      models: MODELS,
      workersPerModel: 4,
      accounts: [account.id, other.id],
      // Each value is a row of the table under a chart. With the rows of six hours, axe takes at least 1.6 s for this
      // screen.
      longHistoryValues: 180,
    }),
  )
  const served = await startConsole({ billingUrl: cluster.adminUrl, serveLive: live.serve })
  return {
    cluster,
    served,
    live,
    screens: {
      now: '#/',
      model: '#/model/demo-chat',
      workers: '#/workers',
      request: `#/request/${request}`,
      requests: '#/requests',
      accounts: '#/accounts',
      account: `#/account/${account.id}`,
      'account-empty': `#/account/${other.id}`,
      money: '#/money',
      catalog: '#/catalog',
      log: '#/log',
      find: '#/find?q=e',
      'first-steps': '#/first-steps',
      'request-unknown': '#/request/00000000-0000-4000-8000-000000000000',
    },
    async stop() {
      await served.stop()
      await cluster.stop()
    },
  }
}

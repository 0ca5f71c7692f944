import { setTimeout as sleep } from 'node:timers/promises'
import { createAdminClient } from '#libs/admin-contract/admin-client.ts'
import { ADMIN_TOKEN, createAccountCalls, type AccountCalls, type EnginePlan } from '../cluster.ts'
import { freePort } from '../free-port.ts'
import { startLocalRedis } from '../local-servers.ts'
import { OTHER_RELEASE } from '../other-release.ts'
import { createPostgres, type TestPostgres } from '../postgres.ts'
import { createReplicatedPostgres } from '../replicated-postgres.ts'
import { startApp, type RunningApp } from '../processes.ts'
import { scratchData } from '../run-folder.ts'
import { createSteppedClock, type SteppedClock } from '../stepped-clock.ts'
import { dropWritesSince, markWrites } from './lose-writes.ts'
import { makeReadOnly } from './make-read-only.ts'
import { createPart, type Part } from './part.ts'
import { startTcpProxy, type LinkState, type TcpProxy } from './tcp-proxy.ts'

/** The connections of one app to one server. A worker's `engine` link is its connection to all of its engines. */
export type Link = {
  readonly name: string
  cut(): void
  setState(state: LinkState): void
}

export type App = Part & { opsUrl(): string }

export type FaultyCluster = AccountCalls & {
  readonly gateways: readonly (App & { readonly baseUrl: string })[]
  readonly workers: readonly App[]
  /** The simulators: each has the engines of the worker with the same index. */
  readonly simulators: readonly App[]
  readonly billings: readonly App[]
  readonly queue: Part
  readonly bus: Part
  readonly postgres: Part
  readonly parts: readonly Part[]
  readonly links: readonly Link[]
  readonly queueUrl: string
  readonly busUrl: string
  readonly databaseUrl: string
  /**
   * Changes the faults of a simulator's engines: of all its engines, or of one model's engines. See
   * apps/simulator/faults.ts.
   */
  changeEngines(simulator: App, change: object): Promise<void>
  /** Kills the queue Redis (kill -9) and starts it without the writes of the last `ms`. */
  loseWrites(ms: number): Promise<void>
  /**
   * Makes new sessions of PostgreSQL read-only for `ms`. Sessions that begin within this time stay read-only until they
   * end. Billing's earlier sessions end at once.
   */
  makeReadOnly(ms: number): Promise<void>
  /** Makes the standby of a replicated PostgreSQL the primary, and gives it a new standby. */
  failOver(former: 'killed' | 'read-only'): Promise<void>
  /** Moves the wall clock of a gateway, worker, simulator or billing ahead by `aheadMs` for `ms`. */
  stepClock(part: string, step: { aheadMs: number; ms: number }): Promise<void>
  /** Starts one more worker with its own engines. It is not listed in `workers`. */
  startWorker(name: string, engines?: readonly EnginePlan[]): Promise<{ worker: App; simulator: App }>
  stop(): Promise<void>
}

export type FaultyClusterOptions = {
  readonly gateways: number
  readonly workers: number
  readonly billings: number
  /** The engines of each worker, in one simulator process per worker. */
  readonly engines: readonly EnginePlan[]
  /** PostgreSQL has a standby; default: none. */
  readonly hasStandby?: boolean
  readonly env?: Partial<Record<AppName, Readonly<Record<string, string>>>>
  /** The names of the apps that run as another release. */
  readonly otherRelease?: readonly string[]
}

type AppName = 'gateway' | 'worker' | 'billing' | 'simulator'

/**
 * Starts a cluster of real processes in which everything can fail: each process can be killed, stopped and frozen, and
 * each app reaches each server through a separate proxy. The queue and the bus are two Redis servers.
 */
export async function startFaultyCluster(options: FaultyClusterOptions): Promise<FaultyCluster> {
  const servers = await startServers(options.hasStandby ?? false)
  const links: Link[] = []
  const proxies: TcpProxy[] = []

  /** Returns the address at which the app `name` reaches the server. */
  async function link(name: string, server: string, targets: readonly [string, ...string[]]) {
    const [first, ...others] = targets
    const opened = await startTcpProxy([toTarget(first), ...others.map(toTarget)])
    proxies.push(opened)
    links.push({ name: `${name}→${server}`, cut: opened.cut, setState: opened.setState })
    return `127.0.0.1:${opened.port}`
  }

  async function linkUrl(name: string, server: string, url: string) {
    const linked = new URL(url)
    linked.host = await link(name, server, [linked.host])
    return linked.href
  }

  async function linkEngines(name: string, listens: readonly string[]) {
    const opened = await Promise.all(listens.map((listen) => startTcpProxy([toTarget(listen)])))
    proxies.push(...opened)
    links.push({
      name: `${name}→engine`,
      cut: () => opened.forEach((proxy) => proxy.cut()),
      setState: (state) => opened.forEach((proxy) => proxy.setState(state)),
    })
    return opened.map(({ port }) => `127.0.0.1:${port}`)
  }

  const redisUrls = async (name: string) => ({
    QUEUE_REDIS_URL: await linkUrl(name, 'queue', servers.queueUrl),
    BUS_REDIS_URL: await linkUrl(name, 'bus', servers.busUrl),
  })
  const clocks = new Map<string, SteppedClock>()
  function app(name: string, kind: AppName, env: Readonly<Record<string, string>>) {
    const clock = createSteppedClock()
    clocks.set(name, clock)
    const given = options.env?.[kind]
    const release = options.otherRelease?.includes(name) === true ? [OTHER_RELEASE.NODE_OPTIONS] : []
    // Deliberate mistakes are passed in NODE_OPTIONS too.
    const hooks = [clock.env.NODE_OPTIONS, ...release, given?.['NODE_OPTIONS'] ?? ''].join(' ').trim()
    return createApp(name, kind, { LOG_LEVEL: 'info', ...env, ...clock.env, ...given, NODE_OPTIONS: hooks })
  }

  async function createBilling(name: string) {
    const [grpc, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
    const billing = app(name, 'billing', {
      DATABASE_URL: await linkUrl(name, 'postgres', servers.postgres.url('postgres')),
      QUEUE_REDIS_URL: await linkUrl(name, 'queue', servers.queueUrl),
      GRPC_LISTEN: grpc,
      ADMIN_PORT: String(toTarget(admin).port),
      ADMIN_TOKEN,
      RECEIPT_SECRETS: 'test-receipt-secret-of-32-characters',
      CATALOG_FILE: 'deploy/catalog.demo.json',
    })
    return { billing, grpc, admin }
  }

  async function createUnit(name: string, plans: readonly EnginePlan[]) {
    const placed = await Promise.all(
      plans.map(async (plan) => ({ ...plan, listen: `127.0.0.1:${await freePort()}` })),
    )
    const number = name.slice(name.indexOf('-'))
    const simulator = app(`simulator${number}`, 'simulator', { SIMULATOR_ENGINES: JSON.stringify(placed) })
    const addresses = await linkEngines(
      name,
      placed.map(({ listen }) => listen),
    )
    const engines = placed.map(({ model, files }, index) => ({ model, files, engine: addresses[index] }))
    const worker = app(name, 'worker', { ...(await redisUrls(name)), WORKERS: JSON.stringify(engines) })
    return { worker, simulator }
  }

  async function createGateway(name: string, billingAddresses: readonly [string, ...string[]]) {
    const port = await freePort()
    const gateway = app(name, 'gateway', {
      ...(await redisUrls(name)),
      PORT: String(port),
      BILLING_ADDRESS: await link(name, 'billing', billingAddresses),
    })
    return { ...gateway, baseUrl: `http://127.0.0.1:${port}/v1` }
  }

  const placedBillings = await numbered(options.billings, 'billing', createBilling)
  const [grpc, admin] = [
    nonEmpty(placedBillings.map(({ grpc }) => grpc)),
    nonEmpty(placedBillings.map(({ admin }) => admin)),
  ]
  const units = await numbered(options.workers, 'worker', (name) => createUnit(name, options.engines))
  const [workers, simulators] = [units.map(({ worker }) => worker), units.map(({ simulator }) => simulator)]
  const gateways = await numbered(options.gateways, 'gateway', (name, index) =>
    // Consecutive gateways prefer different billing processes.
    createGateway(name, index % 2 === 0 ? grpc : nonEmpty(grpc.toReversed())),
  )
  const billings = placedBillings.map(({ billing }) => billing)
  const { queue, bus, postgres } = servers
  const parts: Part[] = [...gateways, ...workers, ...simulators, ...billings, queue, bus, postgres]

  // The processes start one after another, because each migrates the database.
  for (const billing of billings) await billing.start()
  await Promise.all(simulators.map((simulator) => simulator.start()))
  await Promise.all([...workers, ...gateways].map((part) => part.start()))

  const adminProxy = await startTcpProxy(nonEmpty(admin.map(toTarget)))
  proxies.push(adminProxy)
  const adminClient = createAdminClient({ url: `http://127.0.0.1:${adminProxy.port}`, token: ADMIN_TOKEN })

  return {
    ...createAccountCalls(adminClient),
    gateways,
    workers,
    simulators,
    billings,
    queue,
    bus,
    postgres,
    parts,
    links,
    queueUrl: servers.queueUrl,
    busUrl: servers.busUrl,
    databaseUrl: servers.postgres.url('postgres'),
    changeEngines,
    async loseWrites(ms) {
      const mark = markWrites(servers.queueFolder)
      await sleep(ms)
      await queue.killAndStart(0, () => dropWritesSince(mark))
    },
    makeReadOnly: async (ms) => await makeReadOnly(servers.postgres.url('postgres'), ms),
    failOver: async (former) => await servers.failOver(former),
    async stepClock(part, { aheadMs, ms }) {
      const clock = clocks.get(part)
      if (clock === undefined) throw new Error(`there is no clock of ${part}`)
      await clock.setAhead(aheadMs)
      await sleep(ms)
      await clock.setAhead(0)
    },
    async startWorker(name, engines = options.engines) {
      const unit = await createUnit(name, engines)
      parts.push(unit.worker, unit.simulator)
      await unit.simulator.start()
      await unit.worker.start()
      return unit
    },
    async stop() {
      for (const { setState } of links) setState({ kind: 'open' })
      await Promise.all(gateways.map((part) => part.stop()))
      const servers: readonly Part[] = [queue, bus, postgres]
      await Promise.all(parts.filter((part) => !servers.includes(part)).map((part) => part.stop()))
      await Promise.all(servers.map((part) => part.stop()))
      await Promise.all(proxies.map((proxy) => proxy.close()))
    },
  }
}

async function changeEngines(simulator: App, change: object): Promise<void> {
  const response = await fetch(`${simulator.opsUrl()}/faults`, {
    method: 'POST',
    body: JSON.stringify(change),
    signal: AbortSignal.timeout(10_000),
  })
  if (!response.ok) throw new Error(`${simulator.name}: ${await response.text()}`)
}

async function startServers(hasStandby: boolean) {
  const [queueFolder, busFolder] = [scratchData('queue'), scratchData('bus')]
  const [queuePort, busPort] = [await freePort(), await freePort()]
  const queue = createPart('queue', () => startLocalRedis(queueFolder, { port: queuePort }))
  const bus = createPart('bus', () =>
    startLocalRedis(busFolder, { port: busPort, settings: { appendonly: 'no' } }),
  )
  const { server, failOver } = await startPostgresServer(hasStandby)
  const postgres = createPart('postgres', postgresStarter(server))
  // The servers start one after another, because the first start installs Redis if there is none.
  for (const part of [queue, bus, postgres]) await part.start()
  const url = (port: number) => `redis://:test@127.0.0.1:${port}`
  return {
    queue,
    bus,
    postgres: { ...postgres, url: server.url },
    failOver,
    queueUrl: url(queuePort),
    busUrl: url(busPort),
    queueFolder,
  }
}

async function startPostgresServer(hasStandby: boolean) {
  if (!hasStandby) {
    return {
      server: await createPostgres(),
      failOver: () => Promise.reject(new Error('PostgreSQL has no standby')),
    }
  }
  const server = await createReplicatedPostgres()
  return {
    server,
    async failOver(former: 'killed' | 'read-only') {
      await server.promote(former)
      // Waits as long as a connection to the former primary may be in use.
      if (former === 'read-only') await sleep(2_000)
      await server.replaceFormer()
    },
  }
}

/** A `TestPostgres` is already running when it is created, so the first start does nothing. */
function postgresStarter(server: TestPostgres) {
  let first = true
  return async () => {
    if (!first) await server.start()
    first = false
    return { pid: server.pid(), kill: () => server.kill(), stop: () => server.stop() }
  }
}

function createApp(name: string, kind: AppName, env: Readonly<Record<string, string>>): App {
  let running: RunningApp | null = null
  const part = createPart(name, async () => {
    running = await startApp(kind, env)
    return running
  })
  return {
    ...part,
    opsUrl() {
      if (running === null) throw new Error(`${name} has not started`)
      return running.opsUrl
    },
  }
}

function toTarget(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }
}

async function numbered<Made>(
  count: number,
  name: string,
  make: (name: string, index: number) => Promise<Made>,
): Promise<Made[]> {
  return await Promise.all(Array.from({ length: count }, (_, index) => make(`${name}-${index + 1}`, index)))
}

function nonEmpty<Value>(values: readonly Value[]): readonly [Value, ...Value[]] {
  const [first, ...others] = values
  if (first === undefined) throw new Error('at least one is needed')
  return [first, ...others]
}

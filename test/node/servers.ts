import { randomUUID } from 'node:crypto'
import { consoleReader } from '../support/console-reader.ts'
import { applyObjects, kubectl } from './programs.ts'

/** A password that breaks a URL in which it is not encoded. */
const PASSWORD = 'p@ss:w/or#d?%41'
const ENCODED = encodeURIComponent(PASSWORD)
const SQL = `'${PASSWORD}'`
const SERVERS = ['queue', 'bus', 'postgres'] as const

export type Servers = {
  readonly queueUrl: string
  readonly busUrl: string
  /** The URL of the login that docs/operators.md gives to the console. */
  readonly consoleQueueUrl: string
  readonly consoleBusUrl: string
  /** The URLs of the service's login, and of the login that owns the tables. */
  readonly databaseUrl: string
  readonly ownerUrl: string
  close(): Promise<void>
}

/** Starts two Redis servers and a PostgreSQL with billing's two logins, with passwords, in a new namespace. */
export async function startServers(): Promise<Servers> {
  const namespace = `servers-${randomUUID().slice(0, 8)}`
  const run = async (args: readonly string[]) => await kubectl(['--namespace', namespace, ...args])
  await kubectl(['create', 'namespace', namespace])
  const redis = ['redis-server', '--requirepass', PASSWORD, '--save', '', '--maxmemory-policy', 'noeviction']
  const postgresEnv = [{ name: 'POSTGRES_PASSWORD', value: PASSWORD }]
  await applyObjects(
    ...server({
      namespace,
      name: 'queue',
      image: 'redis:7',
      port: 6379,
      args: [...redis, '--appendonly', 'yes'],
    }),
    ...server({ namespace, name: 'bus', image: 'redis:7', port: 6379, args: redis }),
    ...server({ namespace, name: 'postgres', image: 'postgres:18', port: 5432, env: postgresEnv }),
  )
  for (const name of SERVERS) await run(['rollout', 'status', `deployment/${name}`, '--timeout', '180s'])
  for (const name of ['queue', 'bus']) {
    const asOwner = ['redis-cli', '-e', '--no-auth-warning', '-a', PASSWORD]
    await run(['exec', `deployment/${name}`, '--', ...asOwner, 'ACL', 'SETUSER', ...consoleReader(PASSWORD)])
  }
  for (const statement of [
    'create role millrace_service',
    `create role billing_owner login password ${SQL}`,
    'create database billing owner billing_owner',
    `create role billing login password ${SQL}`,
    'grant millrace_service to billing',
  ]) {
    await run(['exec', 'deployment/postgres', '--', 'psql', '-U', 'postgres', '-c', statement])
  }
  const database = `postgres.${namespace}:5432/billing`
  return {
    queueUrl: `redis://:${ENCODED}@queue.${namespace}:6379`,
    busUrl: `redis://:${ENCODED}@bus.${namespace}:6379`,
    consoleQueueUrl: `redis://console:${ENCODED}@queue.${namespace}:6379`,
    consoleBusUrl: `redis://console:${ENCODED}@bus.${namespace}:6379`,
    databaseUrl: `postgres://billing:${ENCODED}@${database}`,
    ownerUrl: `postgres://billing_owner:${ENCODED}@${database}`,
    close: async () => void (await kubectl(['delete', 'namespace', namespace, '--wait=false'])),
  }
}

/** Returns a Service and its Deployment of one pod without a volume. The pod is ready when it accepts connections. */
function server(options: {
  namespace: string
  name: string
  image: string
  port: number
  args?: readonly string[]
  env?: readonly object[]
}): object[] {
  const { namespace, name, image, port, args = [], env = [] } = options
  const labels = { app: name }
  // The probe uses TCP, because PostgreSQL initializes its database with a server that listens only on a Unix socket.
  const readinessProbe = { tcpSocket: { port }, periodSeconds: 1, timeoutSeconds: 5 }
  // Without requests, a container gets almost no processor time while others start.
  const resources = { requests: { cpu: '200m', memory: '64Mi' } }
  const container = { name, image, imagePullPolicy: 'IfNotPresent', args, env, resources, readinessProbe }
  const template = {
    metadata: { labels },
    spec: { terminationGracePeriodSeconds: 5, containers: [container] },
  }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace, name },
      spec: { selector: { matchLabels: labels }, template },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace, name },
      spec: { selector: labels, ports: [{ port }] },
    },
  ]
}

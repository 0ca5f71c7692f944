import { startCluster, type EnginePlan, type TestCluster } from '#test/support/cluster.ts'
import { freePort } from '#test/support/free-port.ts'
import { startApp, type RunningApp } from '#test/support/processes.ts'

export type LiveCluster = {
  cluster: TestCluster
  origin: string
  /** Ends the console as a crash does; `startConsole` runs it again at the same address. */
  killConsole(): Promise<void>
  startConsole(): Promise<void>
  stop(): Promise<void>
}

/** Starts a real cluster and a real console, which shows the live picture of the cluster. */
export async function startLiveCluster(options: {
  workers: EnginePlan[][]
  /** Returns the address at which the console finds billing; without it, billing's own. */
  toBillingUrl?: (adminUrl: string) => string
}): Promise<LiveCluster> {
  const { workers, toBillingUrl = (url) => url } = options
  const cluster = await startCluster({ workers })
  const port = await freePort()
  const start = async (): Promise<RunningApp> =>
    await startApp('console', {
      PORT: String(port),
      BILLING_ADMIN_URL: toBillingUrl(cluster.adminUrl),
      QUEUE_REDIS_URL: cluster.redis.url,
      BUS_REDIS_URL: cluster.redis.url,
    })
  let running = await start()
  return {
    cluster,
    origin: `http://127.0.0.1:${port}`,
    killConsole: async () => await running.kill(),
    async startConsole() {
      running = await start()
    },
    async stop() {
      await running.stop()
      await cluster.stop()
    },
  }
}

/**
 * Starts a streamed chat of `tokens` tokens. Resolves at the first byte, when a worker has claimed it. `leave` ends it.
 */
export async function startStream(
  cluster: Pick<TestCluster, 'baseUrl'>,
  { apiKey, tokens, model = 'demo-chat' }: { apiKey: string; tokens: number; model?: string },
): Promise<{ id: string; leave(): void; end: Promise<unknown> }> {
  const abort = new AbortController()
  const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: true,
      max_tokens: tokens,
      messages: [{ role: 'user', content: `Talk [[tokens=${tokens}]]` }],
    }),
    signal: abort.signal,
  })
  if (response.status !== 200) throw new Error(`the gateway answered ${response.status}`)
  return {
    id: response.headers.get('x-request-id') ?? '',
    leave: () => abort.abort(),
    end: response.text().catch(() => null),
  }
}

import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { createEngineOverTransport } from '#apps/worker/engine/engine-over-transport.ts'
import { createHttp2Transport } from '#apps/worker/engine/transport/http2-transport.ts'
import { freePort } from '#test/support/free-port.ts'
import { startApp } from '#test/support/processes.ts'
import { runPoisson } from '../harness/offer-load.ts'
import { quantile } from '../harness/spread.ts'
import { ENGINE, MODEL } from './start-side.ts'

export type ProbeName = 'ping' | 'commit' | 'engine'

/**
 * Measures the units of this machine: how long one simple call to Redis, PostgreSQL or an engine takes. The calls are
 * made at the rates at which the benchmark sends its requests.
 */
export type Probes = {
  /** Returns the median time of one call at random moments, `ratePerS` on average, in ms. */
  measure(name: ProbeName, load: { ratePerS: number; seconds: number }): Promise<number>
  close(): Promise<void>
}

const PROMPT_TOKENS = 60
const OUTPUT_TOKENS = 3

/**
 * Opens the probes. `ping` is a Redis PING; its median time is R, the unit of this machine. `commit` is an insert of
 * one row. `engine` is the time from the call `Generate` to the first token, with the worker's client and an engine
 * like the engines of the clusters.
 */
export async function openProbes(servers: { redisUrl: string; postgresUrl: string }): Promise<Probes> {
  await using opened = new AsyncDisposableStack()
  const redis = opened.adopt(new Redis(servers.redisUrl, { lazyConnect: true }), (it) => it.disconnect())
  await redis.connect()
  const database = opened.adopt(new Pool({ connectionString: servers.postgresUrl, max: 1 }), (it) => it.end())
  await database.query('create table probe (at timestamptz not null)')
  const address = `127.0.0.1:${await freePort()}`
  opened.adopt(
    await startApp('simulator', {
      SIMULATOR_ENGINES: JSON.stringify([{ ...ENGINE, model: MODEL, listen: address }]),
      LOG_LEVEL: 'warn',
    }),
    (it) => it.stop(),
  )
  const engine = opened.adopt(createEngineOverTransport(createHttp2Transport({ address })), (it) =>
    it.close(),
  )
  let requests = 0

  async function readFirstToken(): Promise<number> {
    requests += 1
    const request = {
      requestId: `probe-${requests}`,
      promptIds: Uint32Array.from({ length: PROMPT_TOKENS }, (_, index) => ((requests + index) % 200) + 1),
      sampling: { temperature: 0 },
      maxTokens: OUTPUT_TOKENS,
      endIds: [],
      stop: [],
      constraint: null,
      cacheSalt: null,
    }
    const sentMs = performance.now()
    let firstMs = Number.NaN
    await engine.generate(request, {
      signal: new AbortController().signal,
      onTokens() {
        if (Number.isNaN(firstMs)) firstMs = performance.now() - sentMs
        return true
      },
    })
    return firstMs
  }
  const time = async (call: () => Promise<unknown>) => {
    const sentMs = performance.now()
    await call()
    return performance.now() - sentMs
  }
  const calls: Record<ProbeName, () => Promise<number>> = {
    ping: () => time(() => redis.ping()),
    commit: () =>
      time(() => database.query({ name: 'probe', text: 'insert into probe values (clock_timestamp())' })),
    engine: readFirstToken,
  }

  const owned = opened.move()
  return {
    async measure(name, load) {
      const tookMs: number[] = []
      await runPoisson({
        ...load,
        async call() {
          tookMs.push(await calls[name]())
          return true
        },
      })
      return quantile(
        tookMs.toSorted((a, b) => a - b),
        0.5,
      )
    },
    close: () => owned.disposeAsync(),
  }
}

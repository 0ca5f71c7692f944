import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineClient } from '../../apps/worker/engine/engine-client.ts'
import { createEngineOverTransport } from '../../apps/worker/engine/engine-over-transport.ts'
import { createHttp2Transport } from '../../apps/worker/engine/transport/http2-transport.ts'
import type { EngineCluster } from '../../test/support/engine-cluster.ts'
import { ms } from './figures.ts'
import { offerStreams, type Side } from './offer-streams.ts'

export type Upset = {
  readonly side: Side
  readonly engine: string
  readonly words: number
  readonly tokens: number
  readonly threads: number
  readonly slots: number
  readonly cluster: EngineCluster
}

export type Outcome = { readonly text: string; readonly problems: readonly string[] }

/** The number of streams whose clients hang up, or whose worker is killed. */
const STREAMS = 64
/** Tokens of each answer, enough for streams of some seconds. */
const LONG = 700
const LOOK_MS = 5
const LONGEST_MS = 30_000

/**
 * Starts streams in the engine, then closes the clients' connections, and measures how long the engine still has work.
 */
export async function hangUp({ side, engine, words, slots }: Upset): Promise<Outcome> {
  const client = openEngine(engine)
  const abort = new AbortController()
  const streams = Math.min(STREAMS, slots)
  try {
    const requests = Array.from({ length: streams }, async () => await holdStream(side, words, abort.signal))
    const running = await untilRunning(client, (count) => count >= streams / 2)
    abort.abort()
    const leftMs = performance.now()
    await Promise.all(requests)
    await untilRunning(client, (count) => count === 0)
    const text = `${(performance.now() - leftMs).toFixed(0)} ms, of ${running} running`
    return { text, problems: [] }
  } finally {
    abort.abort()
    client.close()
  }
}

/** Starts twice as many streams as the engine has slots, and measures how many run in it at once. */
export async function overload({ side, engine, words, tokens, threads, slots }: Upset): Promise<Outcome> {
  const client = openEngine(engine)
  const over = new AbortController()
  let most = 0
  const looks = (async () => {
    while (!over.signal.aborted) {
      most = Math.max(most, (await client.getLoads()).running)
      await sleep(100)
    }
  })()
  try {
    const load = { streams: 2 * slots, requests: 2 * slots, words, tokens }
    const { tokensPerS, problems } = await offerStreams(side, load, threads)
    const text = `${2 * slots} on ${slots}: never more than ${most} running; ${tokensPerS.toFixed(0)} tokens/s`
    return { text, problems }
  } finally {
    over.abort()
    await looks
    client.close()
  }
}

/**
 * Lets two workers share the streams, and kills one of the workers. Measures the longest gap within a stream, and
 * checks that all streams are complete.
 */
export async function killWorker({ side, engine, words, threads, slots, cluster }: Upset): Promise<Outcome> {
  const [worker] = cluster.workers
  if (worker === undefined) throw new Error('there is no worker')
  const client = openEngine(engine)
  const streams = Math.min(STREAMS, slots)
  try {
    await cluster.startWorker()
    const load = { streams, requests: streams, words, tokens: LONG }
    const kill = async () => {
      await untilRunning(client, (count) => count >= streams / 2)
      await worker.kill()
    }
    const [{ gapsMs, problems, streams: whole }] = await Promise.all([
      offerStreams(side, load, threads),
      kill(),
    ])
    const text = `${whole.length} of ${streams} streams whole, longest gap ${ms(gapsMs, 1)} ms`
    return { text, problems }
  } finally {
    client.close()
  }
}

const openEngine = (address: string): EngineClient =>
  createEngineOverTransport(createHttp2Transport({ address }))

/** Sends a request and reads its stream until `signal` ends it, or it ends by itself. */
async function holdStream(side: Side, words: number, signal: AbortSignal): Promise<void> {
  try {
    const response = await fetch(`${side.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${side.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: side.model,
        messages: [{ role: 'user', content: 'kalomi '.repeat(words) }],
        max_tokens: LONG,
        stream: true,
      }),
      signal,
    })
    await response.text()
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/**
 * Waits until the number of generations in the engine satisfies `isWanted`, and returns the number. Throws if the wait
 * takes too long.
 */
async function untilRunning(client: EngineClient, isWanted: (count: number) => boolean): Promise<number> {
  const endMs = performance.now() + LONGEST_MS
  for (;;) {
    const { running } = await client.getLoads()
    if (isWanted(running)) return running
    if (performance.now() > endMs) throw new Error(`the engine still runs ${running}`)
    await sleep(LOOK_MS)
  }
}

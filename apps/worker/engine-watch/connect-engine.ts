import { isIPv4 } from 'node:net'
import { readHostPort } from '#libs/config/host-port.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { EngineClient, EngineServerInfo } from '../engine/engine-client.ts'
import { createEngineOverTransport } from '../engine/engine-over-transport.ts'
import { createHttp2Transport } from '../engine/transport/http2-transport.ts'
import { judgeEngine } from './known-engines.ts'

/** A healthy engine, and its limits. */
export type ConnectedEngine = {
  readonly client: EngineClient
  /** How many generations the engine runs at once. */
  readonly maxNumSeqs: number
  readonly contextWindow: number
  readonly vocabularySize: number
  /** The release of vLLM and the kind of its servicer, for operators: `0.32.0 python`. */
  readonly release: string
  readonly kind: 'chat' | 'embedding'
}

const PAUSES = { firstPauseMs: 500, lastPauseMs: 500 }

/**
 * Connects to an engine and waits until it is healthy; a real engine needs minutes to load its weights, and some answer
 * meanwhile. The number of generations that the engine runs at once comes from the engine or the configuration; rejects
 * if neither gives it. `onDead` is called when the engine reports that it has died. Rejects an engine that is known to lose tokens, unless `servesLossy` is true. If the engine was
 * never tried, or its `--reasoning-parser` does not fit the model, this function only logs a warning.
 */
export async function connectEngine(options: {
  address: string
  maxNumSeqs: number | undefined
  servesLossy: boolean
  onDead: () => void
  family: Pick<ModelFamily, 'reasoning'>
  log: Logger
}): Promise<ConnectedEngine> {
  const { address, family, log } = options
  if (!isLoopback(address)) {
    log.warn({ address }, 'the engine is not on this host: two workers on one engine take twice its slots')
  }
  const client = createEngineOverTransport(createHttp2Transport({ address }))
  let lastReason = ''
  const onFailure = (error: unknown) => {
    const reason = String(error)
    if (reason !== lastReason) log.info({ address, reason }, 'waiting for the engine')
    lastReason = reason
  }
  const info = await untilAnswered(client.getModelInfo, { ...PAUSES, onFailure })
  const server = await untilAnswered(client.getServerInfo, { ...PAUSES, onFailure })
  await untilAnswered(async () => await requireHealth(client, options.onDead), { ...PAUSES, onFailure })
  const { version } = await untilAnswered(client.getLoads, { ...PAUSES, onFailure })
  const release = `${version ?? 'unknown'} ${server.servicer}`
  const verdict = judgeEngine(version ?? '', server.servicer)
  if (verdict === 'loses-tokens' && !options.servesLossy) {
    throw new Error(
      `the engine at ${address} (vLLM ${release}) loses tokens of its streams: use the Python servicer, or set ENGINES_THAT_LOSE_TOKENS`,
    )
  }
  if (verdict !== 'whole')
    log.warn({ address, release, verdict }, 'this release of the engine is not supported')
  const maxNumSeqs = options.maxNumSeqs ?? server.maxNumSeqs
  if (maxNumSeqs === null) {
    throw new Error(`the engine at ${address} does not report its max_num_seqs: set maxNumSeqs in WORKERS`)
  }
  const mismatch = findMismatch(family, server.constraintStart)
  if (mismatch !== null) log.warn({ address }, mismatch)
  const { maxContextLength: contextWindow, vocabularySize } = info
  if (vocabularySize === 0) throw new Error(`the engine at ${address} does not report its vocabulary`)
  const kind = info.isGeneration ? 'chat' : 'embedding'
  log.info({ address, release, maxNumSeqs, contextWindow, kind }, 'engine connected')
  return { client, maxNumSeqs, contextWindow, vocabularySize, release, kind }
}

/**
 * The report of a dead engine, in all recorded versions. With other words an engine counts as one that starts, and is
 * restarted only when its start takes too long.
 */
const DEAD = 'Engine is not alive'

/** Rejects while the engine starts, with its own words. */
async function requireHealth(client: Pick<EngineClient, 'healthCheck'>, onDead: () => void): Promise<void> {
  const { healthy, message } = await client.healthCheck()
  if (healthy) return
  if (message === DEAD) onDead()
  throw new Error(message)
}

function isLoopback(address: string): boolean {
  const { host } = readHostPort(address)
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/**
 * Returns why the engine's `--reasoning-parser`, or its absence, does not fit the model; null if it fits.
 *
 * With a `--reasoning-parser`, vLLM applies a grammar only after the parser has seen the end of the thinking, in the
 * output or in the prompt. A model that thinks between tags needs the parser, because otherwise the grammar would
 * forbid the thinking. A model that never thinks must run without the parser, because otherwise its output would never
 * be constrained. Harmony must run without the parser too: our grammars for harmony include its thinking, and harmony's
 * parser would wait for an answer in output that has only calls.
 */
function findMismatch(
  { reasoning }: Pick<ModelFamily, 'reasoning'>,
  start: EngineServerInfo['constraintStart'],
): string | null {
  const isTagged = typeof reasoning === 'object'
  if (isTagged && start === 'first-token') {
    return 'the engine applies grammars to this model’s thinking too: start it with --reasoning-parser'
  }
  if (!isTagged && start === 'after-reasoning') {
    return 'the engine waits for thinking tags that this model does not write: start it without --reasoning-parser'
  }
  return null
}

import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { EngineClient } from './engine/engine-client.ts'
import { createGrpcEngineClient } from './engine/grpc-engine-client.ts'

const PAUSES = { firstPauseMs: 500, lastPauseMs: 500 }

/**
 * Connects to an engine and waits until it answers: a real one needs minutes to load its weights. Throws when
 * the engine does not say how much it can run at once and the configuration does not either.
 */
export async function connectEngine(options: {
  address: string
  maxNumSeqs: number | undefined
  log: Logger
}): Promise<{ engine: EngineClient; limits: { maxNumSeqs: number; contextWindow: number } }> {
  const { address, log } = options
  const engine = createGrpcEngineClient({ address })
  const onFailure = (error: unknown) => log.info({ address, reason: String(error) }, 'waiting for the engine')
  const info = await untilAnswered(engine.getModelInfo, { ...PAUSES, onFailure })
  const server = await untilAnswered(engine.getServerInfo, { ...PAUSES, onFailure })
  const maxNumSeqs = options.maxNumSeqs ?? server.maxNumSeqs
  if (maxNumSeqs === null) {
    throw new Error(`the engine at ${address} does not tell its max_num_seqs: set maxNumSeqs in WORKERS`)
  }
  log.info({ address, maxNumSeqs, contextWindow: info.maxContextLength }, 'engine connected')
  return { engine, limits: { maxNumSeqs, contextWindow: info.maxContextLength } }
}

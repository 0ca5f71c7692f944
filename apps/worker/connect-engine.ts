import type { ModelFamily } from '#libs/dialect/family.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { EngineClient, EngineServerInfo } from './engine/engine-client.ts'
import { createEngineOverTransport } from './engine/engine-over-transport.ts'
import { createHttp2Transport } from './engine/transport/http2-transport.ts'

const PAUSES = { firstPauseMs: 500, lastPauseMs: 500 }

/**
 * Connects to an engine and waits until it answers: a real one needs minutes to load its weights. Throws when
 * the engine does not say how much it can run at once and the configuration does not either. For an engine
 * that was started for another kind of model it only logs a warning: all but forced tools and JSON formats work.
 */
export async function connectEngine(options: {
  address: string
  maxNumSeqs: number | undefined
  family: Pick<ModelFamily, 'reasoning'>
  log: Logger
}): Promise<{ engine: EngineClient; limits: { maxNumSeqs: number; contextWindow: number } }> {
  const { address, family, log } = options
  const engine = createEngineOverTransport(createHttp2Transport({ address }))
  let told = ''
  const onFailure = (error: unknown) => {
    const reason = String(error)
    if (reason !== told) log.info({ address, reason }, 'waiting for the engine')
    told = reason
  }
  const info = await untilAnswered(engine.getModelInfo, { ...PAUSES, onFailure })
  const server = await untilAnswered(engine.getServerInfo, { ...PAUSES, onFailure })
  const maxNumSeqs = options.maxNumSeqs ?? server.maxNumSeqs
  if (maxNumSeqs === null) {
    throw new Error(`the engine at ${address} does not tell its max_num_seqs: set maxNumSeqs in WORKERS`)
  }
  const mismatch = findMismatch(family, server.constraintStart)
  if (mismatch !== null) log.warn({ address }, mismatch)
  log.info({ address, maxNumSeqs, contextWindow: info.maxContextLength }, 'engine connected')
  return { engine, limits: { maxNumSeqs, contextWindow: info.maxContextLength } }
}

/**
 * vLLM holds a grammar back until its `--reasoning-parser` has seen the thinking end: in the output, or in a prompt
 * whose template has closed it. Without a parser the grammar would forbid the thinking; with one, a model that
 * never thinks is never held to anything. Our grammars for harmony begin with its thinking, and its parser would wait
 * for an answer where there are only calls.
 */
function findMismatch(
  { reasoning }: Pick<ModelFamily, 'reasoning'>,
  start: EngineServerInfo['constraintStart'],
): string | null {
  const isTagged = typeof reasoning === 'object'
  if (isTagged && start === 'first-token') {
    return 'the engine holds this model’s thinking to grammars too: start it with --reasoning-parser'
  }
  if (!isTagged && start === 'after-reasoning') {
    return 'the engine waits for the end of a thinking that has no tags: start it without --reasoning-parser'
  }
  return null
}

import { EngineConfig } from '#apps/simulator/config.ts'
import { startEngine, type Engine } from '#apps/simulator/engine.ts'
import { loadEngineModel, type Model } from '#apps/simulator/model.ts'
import type { Transport } from '#apps/worker/engine/transport/transport.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { TRANSPORTS, type TransportName } from '#test/support/engine-transports.ts'

export type EngineUnderTest = {
  readonly engine: Engine
  readonly client: Transport
  readonly model: Model
  /** Opens another connection to the same engine. */
  connect(): Transport
  close(): Promise<void>
}

/**
 * The limits of the recorded engine. The steps are short enough for tests, and long enough to act between two of them.
 */
const RECORDED = {
  listen: '127.0.0.1:0',
  model: './tiny',
  files: 'demo',
  maxModelLen: 2_048,
  maxNumSeqs: 8,
  blockSize: 128,
  kvBlocks: 8_192,
  maxNumBatchedTokens: 4_096,
  stepMs: 1,
  sequenceMs: 0,
  prefillTokensPerS: 1_000_000,
}

/** Starts a simulated engine in this process. */
export async function startEngineUnderTest(
  overrides: Partial<Record<keyof EngineConfig, unknown>> = {},
  options: { transport?: TransportName; modelsFolder?: string } = {},
): Promise<EngineUnderTest> {
  const config = EngineConfig.parse({ ...RECORDED, ...overrides })
  const model = await loadOnce(options.modelsFolder ?? 'models', config.files)
  const engine = await startEngine({ config, model, log: createLogger('simulator', 'silent') })
  const address = engine.address() ?? ''
  const transports: Transport[] = []
  const connect = () => {
    const transport = TRANSPORTS[options.transport ?? 'http2']({ address })
    transports.push(transport)
    return transport
  }
  return {
    engine,
    model,
    client: connect(),
    connect,
    async close() {
      for (const transport of transports) transport.close()
      await engine.stop(0)
    },
  }
}

const loaded = new Map<string, Promise<Model>>()

/** Loads each model once: models do not change, and loading one takes longer than most of the tests. */
async function loadOnce(folder: string, files: string): Promise<Model> {
  const place = `${folder} ${files}`
  const model = loaded.get(place) ?? loadEngineModel(folder, files)
  loaded.set(place, model)
  return await model
}

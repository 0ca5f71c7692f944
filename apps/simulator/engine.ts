import { setTimeout as sleep } from 'node:timers/promises'
import { Server } from '@grpc/grpc-js'
import { formatHostPort, readHostPort } from '#libs/config/host-port.ts'
import { bindGrpc, closeGrpc, UNLIMITED_MESSAGES } from '#libs/grpc/serve-grpc.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { EngineConfig } from './config.ts'
import { createEngineCore, type EngineCore } from './engine-core.ts'
import { FaultSettings, type FaultChange } from './faults.ts'
import type { Model } from './model.ts'
import { createFixedWriter } from './persona/fixed-script.ts'
import { createScriptWriter, type ScriptWriter } from './persona/write-script.ts'
import type { SampledModel } from './sampling/sampler.ts'
import { traitsOf } from './servicer-version.ts'
import { createHealthHandlers, HEALTH_SERVICE } from './wire/health-service.ts'
import { createEngineHandlers, engineService, type EngineHandlers } from './wire/service.ts'
import { SHUT_DOWN } from './wire/statuses.ts'

export type Engine = {
  /** `host:port` while it listens, with the port that the kernel assigned; else null. */
  readonly address: () => string | null
  readonly faults: () => FaultSettings
  /** Changes the given faults. Resolves when the change has taken effect. */
  changeFaults(change: Omit<FaultChange, 'engine'>): Promise<void>
  readonly core: () => EngineCore
  /**
   * Stops as a real engine does on SIGTERM. The listener closes at once. Open streams continue for up to `graceMs`
   * (default 5 s). After this time, the streams that are still open are ended with UNAVAILABLE.
   */
  stop(graceMs?: number): Promise<void>
}

/** The parts that a restart replaces. */
type EngineRun = { readonly server: Server; readonly core: EngineCore; readonly handlers: EngineHandlers }

/**
 * Starts one simulated engine and resolves when it listens, after the start delay if it has one. Rejects when
 * the address is taken.
 */
export async function startEngine(options: {
  config: EngineConfig
  model: Model
  log: Logger
}): Promise<Engine> {
  const { config, model, log } = options
  const sampled = sampledModel(config, model)
  const writeScript = await chooseWriter(options, sampled)
  let faults = config.faults
  let address = config.listen
  let listening = false
  let stopped = false
  let loading: NodeJS.Timeout | null = null
  const isLoading = () => loading !== null
  const start = () => startRun(options, { sampled, writeScript, faults: () => faults, isLoading, onDeath })
  let run = start()
  /** The last change of the faults: changes are made one after the other. */
  let changes = Promise.resolve()
  let revival: NodeJS.Timeout | undefined

  function onDeath(): void {
    log.warn({ model: config.model }, 'engine core died')
    if (faults.restartAfterMs !== null && !faults.dead) revival = setTimeout(revive, faults.restartAfterMs)
  }

  function revive(): void {
    changes = changes
      .then(async () => {
        if (!run.core.alive() && !faults.dead && !stopped) await restart()
      })
      .catch((error: unknown) => log.error({ err: error }, 'engine did not start again'))
  }

  async function open(): Promise<void> {
    if (faults.startDelayMs > 0) await sleep(faults.startDelayMs)
    if (stopped) return
    run.core.applyFaults(faults)
    if (faults.loadMs > 0) loading = setTimeout(() => (loading = null), faults.loadMs)
    if (!faults.refuseConnections) await listen()
    log.info({ model: config.model, address, kind: config.kind }, 'engine started')
  }

  async function listen(): Promise<void> {
    const port = await bindGrpc(run.server, address)
    // A restart takes the same port.
    address = formatHostPort({ ...readHostPort(address), port })
    listening = true
  }

  async function restart(): Promise<void> {
    listening = false
    run.core.stop()
    await closeGrpc(run.server, 0)
    run = start()
    await open()
  }

  async function change(next: FaultSettings): Promise<void> {
    const before = faults
    faults = next
    if (before.dead && !next.dead) return await restart()
    run.core.applyFaults(next)
    if (next.refuseConnections && listening) {
      listening = false
      run.server.drain(address, MAX_DRAIN_MS)
      run.server.unbind(address)
    } else if (!next.refuseConnections && !listening) {
      await listen()
    }
  }

  await open()
  return {
    address: () => (listening ? address : null),
    faults: () => faults,
    async changeFaults(wanted) {
      const next = changes.then(() => change(changed(faults, wanted)))
      changes = next.catch(() => {})
      await next
    },
    core: () => run.core,
    async stop(graceMs = 5_000) {
      stopped = true
      clearTimeout(revival)
      clearTimeout(loading ?? undefined)
      listening = false
      const cut = setTimeout(() => run.handlers.failAll(SHUT_DOWN), graceMs)
      // Clients that read have one more second to receive the statuses. After that, connections are closed.
      await closeGrpc(run.server, graceMs + 1_000)
      clearTimeout(cut)
      run.core.stop()
    },
  }
}

/** Longer than any stream, so that open streams can end while connecting is refused. */
const MAX_DRAIN_MS = 3_600_000

async function chooseWriter(
  { config, model }: { config: EngineConfig; model: Model },
  { primaryEosId, eosIds }: SampledModel,
): Promise<ScriptWriter> {
  const { behaviour } = config
  const { tokenizer, family } = model
  const endIds = [primaryEosId, ...Array.from(eosIds).filter((id) => id !== primaryEosId)]
  const fixed = await createFixedWriter({ behaviour, tokenizer, endIds })
  return fixed ?? (await createScriptWriter({ tokenizer, family, endIds }))
}

function startRun(
  { config, model }: { config: EngineConfig; model: Model },
  needs: {
    sampled: SampledModel
    writeScript: ScriptWriter
    faults: () => FaultSettings
    isLoading: () => boolean
    onDeath: () => void
  },
): EngineRun {
  const { sampled, writeScript, faults, isLoading, onDeath } = needs
  const core = createEngineCore(config, onDeath)
  const parts = {
    core,
    model: sampled,
    encode: model.tokenizer.encode,
    writeScript,
    traits: traitsOf(config.servicerVersion),
    faults,
    streamInterval: config.streamInterval,
    fails: config.behaviour.type === 'fails-before-text' || config.behaviour.type === 'fails-in-text',
  }
  const handlers = createEngineHandlers({ config, model, core, parts, isLoading })
  const server = new Server(UNLIMITED_MESSAGES)
  server.addService(engineService(), handlers.implementation)
  server.addService(
    HEALTH_SERVICE,
    createHealthHandlers(() => core.alive() && !isLoading()),
  )
  return { server, core, handlers }
}

function sampledModel(config: EngineConfig, model: Model): SampledModel {
  const { tokenizer, eosIds, paddedVocabularySize } = model
  const primaryEosId = model.configEosIds[0] ?? Array.from(eosIds)[0]
  if (primaryEosId === undefined) throw new Error(`the model of ${config.model} has no end token`)
  return {
    maxModelLen: config.maxModelLen,
    vocabularySize: paddedVocabularySize,
    primaryEosId,
    eosIds,
    decode: tokenizer.decode,
    isSpecial: tokenizer.isSpecial,
  }
}

/** Returns the settings after a change; fields that are undefined stay as they are. */
function changed(faults: FaultSettings, change: Omit<FaultChange, 'engine'>): FaultSettings {
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  return FaultSettings.parse({ ...faults, ...Object.fromEntries(given) })
}

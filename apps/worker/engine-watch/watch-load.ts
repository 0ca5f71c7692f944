import type { Logger } from '#libs/telemetry/logger.ts'
import type { EngineClient, EngineLoad } from '../engine/engine-client.ts'

export type LoadWatch = {
  /** The last answer; null if the engine did not answer the last question. */
  last(): EngineLoad | null
  stop(): void
}

const ASK_MS = 1_000

/** Asks an engine for its load each second, while `isAsked` returns true. Calls `onLoad` with each answer, or null. */
export function createLoadWatch(deps: {
  getLoads: EngineClient['getLoads']
  isAsked: () => boolean
  onLoad: (load: EngineLoad | null) => void
  log: Logger
}): LoadWatch {
  const { getLoads, isAsked, onLoad, log } = deps
  let last: EngineLoad | null = null
  let asking = false

  async function ask(): Promise<EngineLoad | null> {
    try {
      return isAsked() ? await getLoads() : null
    } catch (error) {
      log.debug({ err: error }, 'the engine did not report its load')
      return null
    }
  }

  async function look() {
    if (asking) return
    asking = true
    last = await ask()
    asking = false
    onLoad(last)
  }

  void look()
  const timer = setInterval(() => void look(), ASK_MS)
  return { last: () => last, stop: () => clearInterval(timer) }
}

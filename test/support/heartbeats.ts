import type { EngineState, WorkerHeartbeat } from '#libs/event-bus/heartbeat.ts'

/** Returns the state of an engine that is ready, idle and has run nothing. */
export function toEngine(fields: Partial<EngineState> = {}): EngineState {
  return {
    model: 'chat',
    phase: 'ready',
    ready: true,
    slots: 8,
    running: 0,
    meanGenerationMs: null,
    slotTokensPerS: null,
    contextWindow: 4_096,
    ended: 0,
    promptTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
    kvUsed: null,
    kvCapacity: null,
    waiting: null,
    loadingMs: null,
    version: null,
    ...fields,
  }
}

/** Returns the heartbeat of a worker with one engine. */
export function toBeat(
  fields: Partial<Omit<WorkerHeartbeat, 'engines'>> = {},
  engine: Partial<EngineState> = {},
): WorkerHeartbeat {
  return {
    kind: 'worker',
    id: 'w1',
    name: 'worker-0',
    podUid: null,
    node: null,
    pool: null,
    cordonTerm: null,
    ...fields,
    engines: [toEngine(engine)],
  }
}

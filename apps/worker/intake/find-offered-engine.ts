import type { EngineState } from '#libs/event-bus/heartbeat.ts'

/**
 * Returns the engine that an offer for this model is for: a ready engine of the model, with a free slot if there is one.
 * Several engines of one process may serve the model. Returns undefined if none of them is ready.
 */
export function findOfferedEngine<Engine extends { state(): EngineState }>(
  engines: readonly Engine[],
  model: string,
): Engine | undefined {
  const ready = engines
    .map((engine) => ({ engine, state: engine.state() }))
    .filter(({ state }) => state.model === model && state.ready)
  const withRoom = ready.find(({ state }) => state.running < state.slots)
  return (withRoom ?? ready[0])?.engine
}

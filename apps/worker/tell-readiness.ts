import type { EngineState } from '#libs/event-bus/presence.ts'
import type { Readiness } from '#libs/telemetry/serve-ops.ts'

/** Ready once every engine is. Until then the reason names the models of those that are not. */
export function tellReadiness(
  models: readonly string[],
  engines: readonly Pick<EngineState, 'model' | 'ready'>[],
  problems: ReadonlyMap<string, string>,
): ReturnType<Readiness> {
  const awaited = [...models]
  for (const { model, ready } of engines) {
    if (ready) awaited.splice(awaited.indexOf(model), 1)
  }
  if (awaited.length === 0) return { ready: true }
  const reasons = Array.from(new Set(awaited), (model) => {
    const problem = problems.get(model)
    return problem === undefined ? model : `${model}, ${problem}`
  })
  return { ready: false, reason: `no engine yet for ${reasons.join('; ')}` }
}

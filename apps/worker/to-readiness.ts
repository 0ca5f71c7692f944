import type { EngineState } from '#libs/event-bus/presence.ts'
import type { Readiness } from '#libs/telemetry/serve-ops.ts'
import type { LoadProblem } from './served-models.ts'

/** Ready once every engine is. Until then the reason names the models of those that are not. */
export function toReadiness(
  models: readonly string[],
  engines: readonly Pick<EngineState, 'model' | 'ready'>[],
  problems: readonly LoadProblem[],
): ReturnType<Readiness> {
  const awaited = [...models]
  for (const { model, ready } of engines) {
    if (ready) awaited.splice(awaited.indexOf(model), 1)
  }
  if (awaited.length === 0) return { ready: true }
  const reasons = Array.from(new Set(awaited), (model) => {
    const known = problems.filter((problem) => problem.model === model)
    return [model, ...new Set(known.map(({ reason }) => reason))].join(', ')
  })
  return { ready: false, reason: `no engine yet for ${reasons.join('; ')}` }
}

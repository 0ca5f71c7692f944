import type { EngineState } from '#libs/event-bus/heartbeat.ts'
import type { Readiness } from '#libs/telemetry/serve-ops.ts'
import type { LoadProblem } from '../prompt/served-models.ts'

/**
 * The worker is ready if all engines are ready and it does not drain. If it drains, the reason is `draining`; otherwise
 * the reason names the models of the engines that are not ready.
 */
export function toReadiness(
  models: readonly string[],
  engines: readonly Pick<EngineState, 'model' | 'ready'>[],
  { problems, draining }: { readonly problems: readonly LoadProblem[]; readonly draining: boolean },
): ReturnType<Readiness> {
  if (draining) return { ready: false, reason: 'draining' }
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

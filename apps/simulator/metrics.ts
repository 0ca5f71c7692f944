import type { Registry } from '@prometheus-io/client'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'
import type { EngineCore } from './engine-core.ts'

/** Registers the engines' counts, which are read at each scrape. The configuration bounds the label `model`. */
export function registerEngineMetrics(
  registry: Registry,
  engines: () => readonly { readonly model: string; readonly core: () => EngineCore }[],
): void {
  const { counter, gauge } = declareMetrics(registry)
  const ofEngines = (name: string, help: string, read: (core: EngineCore) => number) => ({
    name,
    help,
    labelNames: ['model'] as const,
    read: () => engines().map(({ model, core }) => [{ model }, read(core())] as const),
  })

  counter(
    ofEngines(
      'millrace_simulator_steps_total',
      'Steps completed since the engine started.',
      (core) => core.totals().steps,
    ),
  )
  counter(
    ofEngines(
      'millrace_simulator_tokens_total',
      'Tokens generated since the engine started.',
      (core) => core.totals().tokens,
    ),
  )
  counter(
    ofEngines(
      'millrace_simulator_prompt_tokens_total',
      'Prompt tokens computed since the engine started; cached ones do not count.',
      (core) => core.totals().promptTokens,
    ),
  )
  gauge(
    ofEngines(
      'millrace_simulator_running',
      'Sequences running as of the last step.',
      (core) => core.load().running,
    ),
  )
  gauge(
    ofEngines(
      'millrace_simulator_waiting',
      'Sequences waiting as of the last step.',
      (core) => core.load().waiting,
    ),
  )
}

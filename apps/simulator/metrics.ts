import { Counter, Gauge, type Registry } from 'prom-client'
import type { EngineCore } from './engine-core.ts'

/** Registers the engines' counts, which are read at each scrape. The configuration bounds the label `model`. */
export function registerEngineMetrics(
  registry: Registry,
  engines: () => readonly { readonly model: string; readonly core: () => EngineCore }[],
): void {
  const measure = (
    Metric: typeof Counter | typeof Gauge,
    { name, help, read }: { name: string; help: string; read: (core: EngineCore) => number },
  ) =>
    new Metric({
      name,
      help,
      labelNames: ['model'],
      registers: [registry],
      collect() {
        this.reset()
        for (const { model, core } of engines()) this.inc({ model }, read(core()))
      },
    })

  measure(Counter, {
    name: 'millrace_simulator_steps_total',
    help: 'Steps completed since the engine started.',
    read: (core) => core.totals().steps,
  })
  measure(Counter, {
    name: 'millrace_simulator_tokens_total',
    help: 'Tokens generated since the engine started.',
    read: (core) => core.totals().tokens,
  })
  measure(Gauge, {
    name: 'millrace_simulator_running',
    help: 'Sequences running as of the last step.',
    read: (core) => core.load().running,
  })
  measure(Gauge, {
    name: 'millrace_simulator_waiting',
    help: 'Sequences waiting as of the last step.',
    read: (core) => core.load().waiting,
  })
}

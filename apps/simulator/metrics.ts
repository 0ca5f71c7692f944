import { Counter, Gauge, type Registry } from 'prom-client'
import type { EngineCore } from './engine-core.ts'

/** Registers the engines' counts; they are read when someone asks for them. `model` is bounded by the configuration. */
export function registerEngineMetrics(
  registry: Registry,
  engines: () => readonly { readonly model: string; readonly core: () => EngineCore }[],
): void {
  const counter = (what: { name: string; help: string; read: (core: EngineCore) => number }) =>
    new Counter({
      name: what.name,
      help: what.help,
      labelNames: ['model'],
      registers: [registry],
      collect() {
        this.reset()
        for (const { model, core } of engines()) this.inc({ model }, what.read(core()))
      },
    })
  const gauge = (what: { name: string; help: string; read: (core: EngineCore) => number }) =>
    new Gauge({
      name: what.name,
      help: what.help,
      labelNames: ['model'],
      registers: [registry],
      collect() {
        this.reset()
        for (const { model, core } of engines()) this.inc({ model }, what.read(core()))
      },
    })

  counter({
    name: 'millrace_simulator_steps_total',
    help: 'Steps completed since the engine started.',
    read: (core) => core.totals().steps,
  })
  counter({
    name: 'millrace_simulator_tokens_total',
    help: 'Tokens generated since the engine started.',
    read: (core) => core.totals().tokens,
  })
  gauge({
    name: 'millrace_simulator_running',
    help: 'Sequences running as of the last step.',
    read: (core) => core.load().running,
  })
  gauge({
    name: 'millrace_simulator_waiting',
    help: 'Sequences waiting as of the last step.',
    read: (core) => core.load().waiting,
  })
}

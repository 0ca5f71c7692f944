import { Counter, Gauge, type Registry } from 'prom-client'
import type { EngineState } from '#libs/event-bus/presence.ts'

export type WorkerMetrics = {
  generations: Counter<'model' | 'result'>
  events: Counter
  frames: Counter
}

/** Labels are bounded: a worker has few models, and a result is one of two. */
export function createWorkerMetrics(options: {
  registry: Registry
  engines: () => EngineState[]
  pendingSettlements: () => number
}): WorkerMetrics {
  const { registry, engines, pendingSettlements } = options
  const registers = [registry]
  new Gauge({
    name: 'millrace_worker_slots',
    help: 'Generations that the engine can run at once',
    labelNames: ['model'],
    registers,
    collect() {
      this.reset()
      for (const { model, slots } of engines()) this.inc({ model }, slots)
    },
  })
  new Gauge({
    name: 'millrace_worker_running',
    help: 'Generations that run now',
    labelNames: ['model'],
    registers,
    collect() {
      this.reset()
      for (const { model, running } of engines()) this.inc({ model }, running)
    },
  })
  new Gauge({
    name: 'millrace_worker_pending_settlements',
    help: 'Settlements that the queue Redis has not answered yet',
    registers,
    collect() {
      this.set(pendingSettlements())
    },
  })
  return {
    generations: new Counter({
      name: 'millrace_worker_generations_total',
      help: 'Tickets processed, by whether the engine worked for them',
      labelNames: ['model', 'result'],
      registers,
    }),
    events: new Counter({ name: 'millrace_worker_events_total', help: 'Events published', registers }),
    frames: new Counter({ name: 'millrace_worker_frames_total', help: 'Frames published', registers }),
  }
}

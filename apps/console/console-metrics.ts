import { Counter, Gauge, type Registry } from 'prom-client'
import type { Live } from './live/live.ts'

/** Registers the console's metrics. Labels are bounded: they name only models of the catalog and of workers. */
export function createConsoleMetrics(deps: { registry: Registry; live: Live }): void {
  const { registry, live } = deps
  const registers = [registry]
  const ofModels = (
    name: string,
    help: string,
    read: (row: ReturnType<Live['picture']['rows']>[number]) => number | null,
  ) =>
    new Gauge({
      name,
      help: `${help}; from each console`,
      labelNames: ['model'],
      registers,
      collect() {
        this.reset()
        for (const row of live.picture.rows()) {
          const value = read(row)
          if (value !== null) this.set({ model: row.id }, value)
        }
      },
    })
  ofModels('millrace_queue_drain_rate', 'Generations that end a second', ({ endsPerS }) => endsPerS)
  ofModels(
    'millrace_queue_expected_wait_seconds',
    'How long the last of what waits will wait; absent where it is not known',
    ({ expectedWaitMs }) => (expectedWaitMs === null ? null : expectedWaitMs / 1_000),
  )
  ofModels(
    'millrace_queue_short_slots',
    'Slots that are missing to keep up and to empty the queue within 30 s',
    ({ shortSlots }) => shortSlots,
  )
  new Gauge({
    name: 'millrace_console_viewers',
    help: 'Open streams of the live picture',
    registers,
    collect() {
      this.set(live.streams.viewers())
    },
  })
  new Counter({
    name: 'millrace_console_queue_commands_total',
    help: 'Commands that were sent to the queue Redis',
    registers,
    collect() {
      this.reset()
      this.inc(live.queues.commands())
    },
  })
}

import type { Registry } from '@prometheus-io/client'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'
import type { Live } from './live/live.ts'

type Row = ReturnType<Live['picture']['rows']>[number]

/** Registers the console's metrics. Labels are bounded: they name only models of the catalog and of workers. */
export function createConsoleMetrics(deps: { registry: Registry; live: Live }): void {
  const { registry, live } = deps
  const { counter, gauge } = declareMetrics(registry)
  const ofModels = (name: string, help: string, read: (row: Row) => number | null) =>
    gauge({
      name,
      help: `${help}; from each console`,
      labelNames: ['model'],
      read: () => live.picture.rows().map((row) => [{ model: row.id }, read(row)] as const),
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
  gauge({
    name: 'millrace_console_viewers',
    help: 'Open streams of the live picture',
    read: () => live.streams.viewers(),
  })
  counter({
    name: 'millrace_console_queue_commands_total',
    help: 'Commands that were sent to the queue Redis',
    read: () => live.queues.commands(),
  })
}

import { z } from 'zod'
import type { Heartbeat } from '#libs/event-bus/presence.ts'
import { toYesNo } from '../cells.ts'
import { defineCommand } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { argument } from '../fields.ts'
import { formatFields, formatTable, type Column } from '../table.ts'

type Row = Pick<Heartbeat, 'id' | 'name'> & Heartbeat['engines'][number]

const COLUMNS: readonly Column<Row>[] = [
  { title: 'name', cell: ({ name }) => name },
  { title: 'id', cell: ({ id }) => id },
  { title: 'model', cell: ({ model }) => model },
  { title: 'ready', cell: ({ ready }) => toYesNo(ready) },
  { title: 'running', cell: ({ running }) => running, align: 'right' },
  { title: 'slots', cell: ({ slots }) => slots, align: 'right' },
]

const list = defineCommand({
  name: 'workers list',
  summary: 'Lists the workers that are heard on the bus, with their engines.',
  fields: z.strictObject({}),
  examples: ['workers list'],
  async run(_given, { bus }) {
    const workers = await bus.listWorkers()
    const rows = workers.flatMap(({ id, name, engines }) =>
      engines.map((engine) => ({ id, name, ...engine })),
    )
    const answer = workers.map(({ id, name, engines }) => ({ id, name, engines }))
    return { answer: { data: answer }, text: formatTable(COLUMNS, rows) }
  },
})

const drain = defineCommand({
  name: 'workers drain',
  summary:
    'Has a worker take nothing more and hand over what it runs; the process stays until it is stopped.',
  fields: z.strictObject({ worker: argument('WORKER', 'its name (WORKER_NAME), or its id') }),
  examples: ['workers drain gpu-node-7'],
  async run({ worker }, { bus }) {
    const { id, name } = chooseWorker(await bus.listWorkers(), worker)
    const isDraining = await bus.drain(id)
    if (!isDraining) {
      throw new CommandError('unreachable', `${name} (${id}) did not show that it drains: see workers list.`)
    }
    return {
      answer: { id, name, draining: true },
      text: formatFields([
        ['name', name],
        ['id', id],
        ['draining', 'yes'],
      ]),
    }
  },
})

export const WORKER_COMMANDS = [list, drain] as const

/** Throws a CommandError unless exactly one worker has this name or id. */
export function chooseWorker(
  workers: readonly Pick<Heartbeat, 'id' | 'name'>[],
  wanted: string,
): Pick<Heartbeat, 'id' | 'name'> {
  const found = workers.filter(({ id, name }) => id === wanted || name === wanted)
  const [worker] = found
  if (worker === undefined) {
    throw new CommandError('refused', `No worker called ${wanted} is heard on the bus: see workers list.`)
  }
  if (found.length > 1) {
    const ids = found.map(({ id }) => id).join(', ')
    throw new CommandError(
      'refused',
      `Several workers are called ${wanted}: give the id of one of them: ${ids}.`,
    )
  }
  return worker
}

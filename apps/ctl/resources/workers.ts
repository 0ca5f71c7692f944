import { z } from 'zod'
import { toReportedEngines, type ReportedEngine, type WorkerHeartbeat } from '#libs/event-bus/heartbeat.ts'
import type { Bus } from '../bus.ts'
import { defineCommand, type Context, type Outcome } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { argument } from '../fields.ts'
import { formatFields, formatTable, type Column } from '../table.ts'

const COLUMNS: readonly Column<ReportedEngine>[] = [
  { title: 'name', cell: ({ name }) => name },
  { title: 'id', cell: ({ id }) => id },
  { title: 'model', cell: ({ model }) => model },
  { title: 'pool', cell: ({ pool }) => pool },
  { title: 'node', cell: ({ node }) => node },
  { title: 'engine', cell: ({ version }) => version },
  { title: 'phase', cell: toPhaseText },
  { title: 'running', cell: ({ running }) => running, align: 'right' },
  { title: 'slots', cell: ({ slots }) => slots, align: 'right' },
]

const list = defineCommand({
  name: 'workers list',
  summary: 'Lists the workers on the bus, with their engines, also those that load.',
  fields: z.strictObject({}),
  examples: ['workers list'],
  async run(_given, { bus }) {
    const workers = await bus.listWorkers()
    return { answer: { data: workers }, text: formatTable(COLUMNS, workers.flatMap(toReportedEngines)) }
  },
})

const WORKER = { worker: argument('WORKER', 'its name (WORKER_NAME), or its id') }

const cordon = defineCommand({
  name: 'workers cordon',
  summary: 'Has a worker take nothing more, and run what it has to its end, until it is uncordoned.',
  fields: z.strictObject(WORKER),
  examples: ['workers cordon gpu-node-7'],
  run: async ({ worker }, { bus }) => await change(worker, bus, 'cordon'),
})

const uncordon = defineCommand({
  name: 'workers uncordon',
  summary: 'Ends the cordon of an operator; a scaler ends its own.',
  fields: z.strictObject(WORKER),
  examples: ['workers uncordon gpu-node-7'],
  run: async ({ worker }, { bus }) => await change(worker, bus, 'uncordon'),
})

const drain = defineCommand({
  name: 'workers drain',
  summary:
    'Has a worker take nothing more and hand over what it runs; the process stays until it is stopped.',
  fields: z.strictObject(WORKER),
  examples: ['workers drain gpu-node-7'],
  run: async ({ worker }, { bus }) => await change(worker, bus, 'drain'),
})

export const WORKER_COMMANDS = [list, cordon, uncordon, drain] as const

/** Sends one request to one worker, and waits until the worker's messages show that it has followed the request. */
async function change(
  wanted: string,
  bus: Context['bus'],
  what: keyof Pick<Bus, 'cordon' | 'uncordon' | 'drain'>,
): Promise<Outcome> {
  const { id, name } = chooseWorker(await bus.listWorkers(), wanted)
  const worker = await bus[what](id)
  if (worker === null) {
    throw new CommandError('unreachable', `${name} (${id}) did not follow the ${what}: see workers list.`)
  }
  return {
    answer: worker,
    text: formatFields([
      ['name', name],
      ['id', id],
      ...toReportedEngines(worker).map((engine) => [engine.model, toPhaseText(engine)] as const),
    ]),
  }
}

function toPhaseText({ phase, cordonTerm }: ReportedEngine): string {
  return phase === 'cordoned' && cordonTerm !== null ? 'cordoned by a scaler' : phase
}

/** Throws a CommandError unless exactly one worker has this name or id. */
export function chooseWorker<Worker extends Pick<WorkerHeartbeat, 'id' | 'name'>>(
  workers: readonly Worker[],
  wanted: string,
): Worker {
  const found = workers.filter(({ id, name }) => id === wanted || name === wanted)
  const [worker] = found
  if (worker === undefined) {
    throw new CommandError('refused', `No worker called ${wanted} is on the bus: see workers list.`)
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

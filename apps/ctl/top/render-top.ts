import type { ModelLine } from '#libs/live-view/rows.ts'
import type { ModelView, NowView } from '#libs/live-view/views.ts'
import { formatTable, toPrintable, type Column } from '../table.ts'
import type { Picture } from './follow-live.ts'
import { formatCount, formatMs, formatShare } from './figures.ts'
import type { Sort, TopState } from './top-state.ts'

const MOST_PROBLEMS = 3
const BAR = 10

/** Returns the models of the picture, sorted and filtered as the viewer chose. */
export function chooseModels(
  { models }: NowView,
  { sort, filter }: Pick<TopState, 'sort' | 'filter'>,
): ModelLine[] {
  const wanted = filter.toLowerCase()
  return models
    .filter(({ id }) => id.toLowerCase().includes(wanted))
    .toSorted((a, b) => BY[sort](b) - BY[sort](a) || (a.id < b.id ? -1 : 1))
}

const BY: Readonly<Record<Sort, (model: ModelLine) => number>> = {
  waiting: ({ waiting }) => waiting ?? 0,
  refused: (model) => refused(model),
  output: ({ tokensPerS }) => tokensPerS.completion,
  model: () => 0,
}

/** Returns the first line of the screen: the cluster in figures. */
export function toHeader({ asOf, view }: Picture<NowView>): string {
  const { cluster, problems } = view
  const parts = [
    'millrace',
    asOf.slice(11, 19),
    `asked ${formatCount(cluster.askedPerS)}/s`,
    `out ${formatCount(cluster.tokensPerS.completion)} tok/s`,
    `failed ${formatShare(cluster.failedShare)}`,
    `workers ${cluster.workers.ready}/${cluster.workers.all}`,
    problems.length === 0 ? 'no problem' : `▲ ${problems.length} problem${problems.length === 1 ? '' : 's'}`,
  ]
  return parts.join('  ')
}

/** Returns the first problems, one line each. */
export function toProblems({ problems }: Pick<NowView, 'problems'>): string[] {
  const lines = problems.slice(0, MOST_PROBLEMS).map(({ text }) => `▲ ${toPrintable(text)}`)
  const more = problems.length - lines.length
  return more > 0 ? [...lines, `  and ${more} more`] : lines
}

export function toModelTable(models: readonly ModelLine[]): string[] {
  return toLines(formatTable(MODEL_COLUMNS, models))
}

/** Returns the lines of one model: its tenants, engines and oldest requests. */
export function toModelLines({ model, tenants, workers, open }: ModelView): string[] {
  if (model === null) return ['No process of the cluster knows this model.']
  const engines = toLines(formatTable(ENGINE_COLUMNS, workers))
  return [
    ...toModelTable([model]),
    '',
    ...(tenants.length === 0 ? ['no tenants'] : toLines(formatTable(TENANT_COLUMNS, tenants))),
    '',
    ...(engines.length === 0 ? ['no workers'] : engines),
    ...(open.length === 0 ? [] : ['', ...toLines(formatTable(OPEN_COLUMNS, open.slice(0, 10)))]),
  ]
}

const toLines = (table: string) => table.split('\n').slice(0, -1)
const refused = ({ refusedPerS }: ModelLine) =>
  Object.values(refusedPerS).reduce((sum, each) => sum + each, 0)

const MODEL_COLUMNS: readonly Column<ModelLine>[] = [
  { title: 'MODEL', cell: ({ id }) => id },
  { title: 'STATE', cell: ({ state, shortSlots }) => (state === 'short' ? `short of ${shortSlots}` : state) },
  {
    title: 'WAITING',
    align: 'right',
    cell: ({ waiting }) => (waiting === null ? '?' : formatCount(waiting)),
  },
  { title: 'WAIT', align: 'right', cell: ({ expectedWaitMs }) => formatMs(expectedWaitMs) },
  { title: 'RUN/SLOTS', align: 'right', cell: ({ running, slots }) => `${running}/${slots}` },
  { title: ''.padEnd(BAR), cell: ({ running, slots }) => toBar(running, slots) },
  { title: 'OUT/S', align: 'right', cell: ({ tokensPerS }) => formatCount(tokensPerS.completion) },
  { title: 'FIRST P95', align: 'right', cell: ({ firstTokenMs }) => formatMs(firstTokenMs.p95) },
  { title: 'REFUSED/S', align: 'right', cell: (model) => formatCount(refused(model)) },
]

const TENANT_COLUMNS: readonly Column<ModelView['tenants'][number]>[] = [
  { title: 'TENANT', cell: ({ accountId }) => accountId },
  { title: 'WAITING', align: 'right', cell: ({ waiting }) => waiting },
  { title: 'RUNNING', align: 'right', cell: ({ running }) => running },
  { title: 'REFUSED/S', align: 'right', cell: ({ refusedPerS }) => formatCount(refusedPerS) },
]

const ENGINE_COLUMNS: readonly Column<ModelView['workers'][number]>[] = [
  { title: 'WORKER', cell: ({ name }) => name },
  { title: 'HOST', cell: ({ host }) => host },
  { title: 'STATE', cell: ({ state }) => state },
  { title: 'RUN/SLOTS', align: 'right', cell: ({ running, slots }) => `${running}/${slots}` },
  { title: 'KV', align: 'right', cell: ({ kvUse }) => formatShare(kvUse) },
  { title: 'CACHED', align: 'right', cell: ({ cacheHits }) => formatShare(cacheHits) },
  { title: 'OUT/S', align: 'right', cell: ({ outputPerS }) => formatCount(outputPerS) },
  { title: 'ENGINE', cell: ({ engineVersion }) => engineVersion },
]

const OPEN_COLUMNS: readonly Column<ModelView['open'][number]>[] = [
  { title: 'OPEN LONGEST', cell: ({ id }) => id },
  { title: 'STAGE', cell: ({ stage }) => stage },
  { title: 'SINCE', cell: ({ startedAt }) => startedAt.slice(11, 19) },
  { title: 'TOKENS', align: 'right', cell: ({ tokens }) => tokens },
]

function toBar(running: number, slots: number): string {
  const full = slots === 0 ? 0 : Math.min(BAR, Math.round((running / slots) * BAR))
  return '█'.repeat(full).padEnd(BAR, '·')
}

import { html, nothing, type TemplateResult } from 'lit-html'
import type { ProcessNow, WorkerNow } from '#libs/live-view/rows.ts'
import type { WorkersView } from '#libs/live-view/views.ts'
import { onFilter } from '#libs/page-parts/filters.ts'
import { shortId } from '#libs/page-parts/id.ts'
import { mark, type Meaning } from '#libs/page-parts/mark.ts'
import { percent, short } from '#libs/page-parts/number.ts'
import { bar } from '#libs/page-parts/sparkline.ts'
import { table, type Column } from '#libs/page-parts/table.ts'
import { duration, moment } from '#libs/page-parts/time.ts'
import type { OpenScreen } from '../app.ts'
import { followLive } from '../live.ts'
import { modelLink } from '../parts/links.ts'
import { asOf, liveSection } from '../parts/live-section.ts'
import { createLiveTable } from '../parts/live-table.ts'

const MEANINGS: Readonly<Record<WorkerNow['state'], Meaning>> = {
  ready: 'good',
  loading: 'busy',
  cordoned: 'off',
  draining: 'busy',
  sick: 'bad',
  silent: 'bad',
}

const UNKNOWN = '–'

export const workerColumns: readonly Column<WorkerNow>[] = [
  {
    name: 'Worker',
    cell: ({ name, worker }) => html`<bdi title=${worker} data-copy=${worker}>${name}</bdi>`,
    sortBy: ({ name }) => name,
  },
  { name: 'Host', from: 'wide', cell: ({ host }) => host ?? UNKNOWN, sortBy: ({ host }) => host ?? '' },
  {
    name: 'Model',
    from: 'medium',
    cell: ({ model }) => modelLink(model),
    sortBy: ({ model }) => model,
  },
  { name: 'State', cell: ({ state }) => mark(MEANINGS[state], state), sortBy: ({ state }) => state },
  {
    name: 'Running',
    isNumber: true,
    cell: ({ running, slots }) => html`${running}/${slots}${bar(running, slots)}`,
    sortBy: ({ running }) => running,
  },
  {
    name: 'Output tok/s',
    isNumber: true,
    cell: ({ outputPerS }) => short(outputPerS),
    sortBy: ({ outputPerS }) => outputPerS,
  },
  {
    name: 'KV',
    isNumber: true,
    from: 'medium',
    cell: ({ kvUse }) => (kvUse === null ? UNKNOWN : percent(kvUse, 1)),
    sortBy: ({ kvUse }) => kvUse ?? -1,
  },
  {
    name: 'Cached',
    isNumber: true,
    from: 'wide',
    cell: ({ cacheHits }) => (cacheHits === null ? UNKNOWN : percent(cacheHits, 1)),
    sortBy: ({ cacheHits }) => cacheHits ?? -1,
  },
  {
    name: 'Engine',
    from: 'wide',
    cell: ({ engineVersion }) => engineVersion ?? UNKNOWN,
    sortBy: ({ engineVersion }) => engineVersion ?? '',
  },
  { name: 'Since', from: 'wide', cell: ({ since }) => moment(since), sortBy: ({ since }) => since },
  {
    name: 'Seen',
    isNumber: true,
    from: 'medium',
    cell: ({ seenMs }) => (seenMs === 0 ? 'now' : `${duration(seenMs)} ago`),
    sortBy: ({ seenMs }) => seenMs,
  },
]

/** The screen of workers: their models, versions and health. */
export const open: OpenScreen = (app, { query }) => {
  const wanted = { state: query.get('state') ?? '', model: query.get('model') ?? '', q: query.get('q') ?? '' }
  const live = followLive<WorkersView>(app, 'workers')
  const workers = createLiveTable(app, byTrouble)
  const filter = onFilter(['workers'])

  function matches({ state, model, name, host, engineVersion }: WorkerNow): boolean {
    const words = `${name} ${host ?? ''} ${engineVersion ?? ''}`
    return (
      (wanted.state === '' || state === wanted.state) &&
      (wanted.model === '' || model === wanted.model) &&
      words.includes(wanted.q)
    )
  }

  return {
    title: 'Workers',
    close: () => live.close(),
    view: () =>
      html`<div class="head">
          <h1>Workers</h1>
          ${asOf(live)}
        </div>
        ${liveSection(
          live,
          (view) =>
            html`<p class="versions">
                ${view.workers.filter(({ state }) => state === 'ready').length} of ${view.workers.length}
                engines ready. ${versions(view.workers)}
              </p>
              <form class="filters" @submit=${filter}>
                <label>State ${choice('state', Object.keys(MEANINGS), wanted.state)}</label>
                <label
                  >Model
                  ${choice('model', [...new Set(view.workers.map(({ model }) => model))].toSorted(), wanted.model)}</label
                >
                <label
                  >Name, host, version <input name="q" type="search" .value=${wanted.q} autocomplete="off"
                /></label>
                <button type="submit">Filter</button>
              </form>
              ${workers.view({
                caption: 'Workers',
                columns: workerColumns,
                rows: view.workers.filter(matches),
                drawnFrom: (row) => [row],
                empty: view.workers.length === 0 ? 'No worker is running.' : 'No worker matches.',
              })}
              <section>
                <h2>Processes</h2>
                ${processTable(view.processes)}
              </section>`,
        )}`,
  }
}

function choice(name: string, values: readonly string[], chosen: string): TemplateResult {
  return html`<select name=${name}>
    <option value="">any</option>
    ${values.map((value) => html`<option value=${value} ?selected=${value === chosen}>${value}</option>`)}
  </select>`
}

function byTrouble(workers: readonly WorkerNow[]): readonly WorkerNow[] {
  const rank = { sick: 0, silent: 1, loading: 2, draining: 3, cordoned: 4, ready: 5 } as const
  return workers.toSorted(
    (a, b) => rank[a.state] - rank[b.state] || a.model.localeCompare(b.model) || a.name.localeCompare(b.name),
  )
}

/** Warns if the engines have several versions, because their outputs may differ. */
function versions(workers: readonly WorkerNow[]): TemplateResult | typeof nothing {
  const known = workers.filter(({ engineVersion }) => engineVersion !== null)
  const counts = [...Map.groupBy(known, ({ engineVersion }) => engineVersion)]
  if (counts.length < 2) return nothing
  const text = counts.map(([version, own]) => `${version} on ${own.length}`).join(', ')
  return mark('warn', `${counts.length} engine versions: ${text}`)
}

function processTable(processes: readonly ProcessNow[]): TemplateResult {
  return table<ProcessNow>({
    caption: 'Gateways and worker processes',
    rows: processes.toSorted((a, b) => a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name)),
    key: ({ id }) => id,
    empty: 'No process sends reports.',
    columns: [
      { name: 'Process', cell: ({ kind, name }) => html`${kind} <bdi>${name}</bdi>` },
      { name: 'Version', cell: ({ version }) => version },
      {
        name: 'Host',
        from: 'medium',
        cell: ({ host, pid }) => html`${host} <span class="dim">${pid}</span>`,
      },
      { name: 'Started', from: 'medium', cell: ({ startedAt }) => moment(startedAt) },
      {
        name: 'Streams',
        isNumber: true,
        cell: ({ openStreams }) => (openStreams === null ? UNKNOWN : short(openStreams)),
      },
      { name: 'Loop delay', isNumber: true, from: 'wide', cell: ({ loopDelayMs }) => duration(loopDelayMs) },
      {
        name: 'To settle',
        isNumber: true,
        from: 'wide',
        cell: ({ pendingSettlements }) => (pendingSettlements === null ? UNKNOWN : short(pendingSettlements)),
      },
      { name: 'Id', from: 'wide', cell: ({ id }) => shortId(id) },
    ],
  })
}

import { html, nothing, type TemplateResult } from 'lit-html'
import type { ModelNow, OpenRequest, Series, TenantNow, WorkerNow } from '#libs/live-view/rows.ts'
import type { ModelView } from '#libs/live-view/views.ts'
import { mark } from '#libs/page-parts/mark.ts'
import { percent, rate, short } from '#libs/page-parts/number.ts'
import { toHash } from '#libs/page-parts/route.ts'
import { bar } from '#libs/page-parts/sparkline.ts'
import { table } from '#libs/page-parts/table.ts'
import { duration, moment } from '#libs/page-parts/time.ts'
import type { OpenScreen } from '../app.ts'
import { followLive } from '../live.ts'
import { createAccountNames, type AccountNames } from '../parts/account-names.ts'
import { createChart, type ChartView } from '../parts/chart.ts'
import { requestLink } from '../parts/links.ts'
import { asOf, liveSection } from '../parts/live-section.ts'
import { problemList, STATES, sum } from './now.ts'
import { workerColumns } from './workers.ts'

/** The number of open requests that are shown, the oldest first. */
const SHOWN = 20

/** Waiting requests should be started within this time (`TARGET_WAIT_MS` of `libs/demand`). */
const DRAIN_S = 30

/**
 * The screen of one model: its load and missing slots, with their history; the accounts that use it; its workers; and
 * its oldest open requests.
 */
export const open: OpenScreen = (app, { path }) => {
  const id = path[1] ?? ''
  const accounts = createAccountNames(app)
  const chart = createChart()
  let drawn: { series: Series; chart: Parameters<ChartView['view']>[0] } | undefined
  const live = followLive<ModelView>(app, `model:${id}`)

  function history({ longHistories }: ModelView): TemplateResult {
    const series = longHistories['waiting']
    if (series === undefined || series.values.every((value) => value === null)) {
      return html`<p class="empty">No history yet.</p>`
    }
    // The chart shows the snapshot's history only: a chart that is redrawn each second cannot be read.
    if (drawn?.series !== series) drawn = { series, chart: toChart(longHistories, series) }
    return chart.view(drawn.chart)
  }

  return {
    title: id,
    close() {
      live.close()
      chart.close()
      accounts.close()
    },
    view: () =>
      html`<div class="head">
          <h1>
            ${id}
            ${live.view?.model ? mark(STATES[live.view.model.state], stateText(live.view.model)) : nothing}
          </h1>
          ${asOf(live)}
        </div>
        ${liveSection(live, (view) =>
          view.model === null
            ? html`<p class="empty">
                No process of the cluster knows this model. <a href="#/catalog">Catalog</a>
              </p>`
            : html`${view.problems.length === 0 ? nothing : problemList(app, view.problems)}
                ${tiles(view.model)} ${needed(view.model)} ${refuses(view.workers)}
                <section>
                  <h2>Waiting and running, 6 hours</h2>
                  ${history(view)}
                </section>
                <section>
                  <h2>Tenants</h2>
                  ${tenantTable(view, accounts)}
                </section>
                <section>
                  <h2>Workers</h2>
                  ${table({
                    caption: 'Workers of this model',
                    columns: workerColumns.filter(({ name }) => name !== 'Model'),
                    rows: view.workers,
                    key: (worker) => worker.id,
                    empty: 'No worker serves it.',
                  })}
                </section>
                <section>
                  <h2>Open longest</h2>
                  ${openTable(view.open, accounts)}
                </section>`,
        )}
        <p class="links">
          <a href=${toHash(['requests'], { model: id })}>Requests of this model</a>
          <a href="#/catalog">Prices</a>
          ${
            app.settings.grafanaUrl === null
              ? nothing
              : html`<a href=${app.settings.grafanaUrl} rel="noreferrer">Grafana</a>`
          }
        </p>`,
  }
}

function stateText({ state, shortSlots }: ModelNow): string {
  return state === 'short' ? `short of ${shortSlots} slots` : state
}

function tiles(model: ModelNow): TemplateResult {
  return html`<dl class="tiles">
    <div>
      <dt>Waiting</dt>
      <dd>
        ${model.waiting === null ? '–' : short(model.waiting)}
        <small>oldest ${duration(model.oldestWaitMs)}</small>
      </dd>
    </div>
    <div>
      <dt>Running of slots</dt>
      <dd>${short(model.running)} <small>/ ${short(model.slots)}</small></dd>
    </div>
    <div>
      <dt>Expected wait</dt>
      <dd>${duration(model.expectedWaitMs)}</dd>
    </div>
    <div>
      <dt>Waited, p95</dt>
      <dd>${duration(model.queueMs.p95)} <small>p50 ${duration(model.queueMs.p50)}</small></dd>
    </div>
    <div>
      <dt>First token, p95</dt>
      <dd>${duration(model.firstTokenMs.p95)} <small>p50 ${duration(model.firstTokenMs.p50)}</small></dd>
    </div>
    <div>
      <dt>Output tokens/s</dt>
      <dd>${short(model.tokensPerS.completion)}</dd>
    </div>
    <div>
      <dt>Refused/s</dt>
      <dd>${rate(sum(model.refusedPerS))} <small>${Object.keys(model.refusedPerS).join(', ')}</small></dd>
    </div>
  </dl>`
}

/** Shows the calculation by which the model is short of slots or has enough. */
function needed({ askedPerS, meanGenerationMs, waiting, slots, running, shortSlots }: ModelNow) {
  if (meanGenerationMs === null || waiting === null) return nothing
  const meanS = meanGenerationMs / 1_000
  const keepUp = Math.ceil(askedPerS * meanS)
  const drain = Math.ceil((Math.max(0, waiting - Math.max(0, slots - running)) * meanS) / DRAIN_S)
  return html`<p>
    Needed: ${rate(askedPerS)} asked/s × ${meanS.toFixed(2)} s = ${keepUp} slots to keep up, + ${drain} to
    drain what waits in ${DRAIN_S} s, − ${slots} present =
    <strong>${shortSlots > 0 ? `short of ${shortSlots}` : 'enough'}</strong>.
  </p>`
}

/**
 * Shows the parts of a conversation that the chat templates of the model's workers cannot render. Shows nothing until a
 * worker has loaded its template.
 */
function refuses(workers: readonly WorkerNow[]): TemplateResult | typeof nothing {
  const known = workers.flatMap((worker) => (worker.refuses === null ? [] : [worker.refuses]))
  if (known.length === 0) return nothing
  const lacking = Array.from(new Set(known.flat()))
  return lacking.length === 0
    ? html`<p>Its chat template can print every conversation.</p>`
    : html`<p>
        It refuses requests with one of these, which its chat template cannot print:
        <strong>${lacking.join('; ')}</strong>.
      </p>`
}

function toChart(histories: ModelView['longHistories'], waiting: Series): Parameters<ChartView['view']>[0] {
  const end = Date.parse(waiting.until) / 1_000
  const step = waiting.stepMs / 1_000
  const known = waiting.values.filter((value) => value !== null)
  const series = [{ name: 'waiting', values: waiting.values }]
  const running = histories['running']
  if (running !== undefined && running.values.length === waiting.values.length) {
    series.push({ name: 'running', values: running.values })
  }
  return {
    sentence: `Waiting: now ${short(known.at(-1) ?? 0)}, lowest ${short(Math.min(...known))}, highest ${short(Math.max(...known))}.`,
    times: waiting.values.map((_, index) => end - (waiting.values.length - 1 - index) * step),
    series,
    format: short,
  }
}

function tenantTable({ tenants, model }: ModelView, accounts: AccountNames): TemplateResult {
  const waiting = model?.waiting ?? 0
  return table<TenantNow>({
    caption: 'Tenants of this model, those with most waiting first',
    rows: tenants.toSorted((a, b) => b.waiting - a.waiting || b.running - a.running),
    key: ({ id }) => id,
    empty: 'Nobody uses it at this moment.',
    columns: [
      { name: 'Account', cell: ({ accountId }) => accounts.link(accountId) },
      { name: 'Waiting', isNumber: true, cell: (row) => short(row.waiting) },
      { name: 'Running', isNumber: true, cell: ({ running }) => short(running) },
      { name: 'Refused/s', isNumber: true, cell: ({ refusedPerS }) => rate(refusedPerS) },
      {
        name: 'Of the queue',
        isNumber: true,
        cell: (row) => html`${percent(row.waiting, waiting)}${bar(row.waiting, waiting)}`,
      },
    ],
  })
}

/** Lists the requests that have been open for the longest time. */
export function openTable(requests: readonly OpenRequest[], accounts: AccountNames): TemplateResult {
  return table<OpenRequest>({
    caption: 'Open requests, the oldest first',
    rows: requests.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt)).slice(0, SHOWN),
    key: ({ id }) => id,
    empty: 'No request is open.',
    columns: [
      { name: 'Request', cell: ({ id }) => requestLink(id) },
      { name: 'Account', cell: ({ accountId }) => accounts.link(accountId) },
      { name: 'Model', from: 'medium', cell: ({ model }) => model },
      { name: 'Stage', cell: ({ stage }) => mark(stage === 'running' ? 'good' : 'busy', stage) },
      { name: 'Since', from: 'medium', cell: ({ startedAt }) => moment(startedAt) },
      { name: 'Tokens', isNumber: true, cell: ({ tokens }) => short(tokens) },
    ],
  })
}

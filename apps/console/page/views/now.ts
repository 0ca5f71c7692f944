import { html, nothing, type TemplateResult } from 'lit-html'
import type { ClusterNow, ModelLine, Problem, Series } from '#libs/live-view/rows.ts'
import type { NowView } from '#libs/live-view/views.ts'
import { load } from '#libs/page-parts/load.ts'
import { mark, type Meaning } from '#libs/page-parts/mark.ts'
import { percent, rate, short } from '#libs/page-parts/number.ts'
import { toHash } from '#libs/page-parts/route.ts'
import { bar, sparkline } from '#libs/page-parts/sparkline.ts'
import type { Column } from '#libs/page-parts/table.ts'
import { duration, moment } from '#libs/page-parts/time.ts'
import { read, type Answer } from '../api.ts'
import type { App, OpenScreen } from '../app.ts'
import { followLive } from '../live.ts'
import { growHistories, type Histories } from '../parts/histories.ts'
import { modelLink } from '../parts/links.ts'
import { asOf, liveSection } from '../parts/live-section.ts'
import { createLiveTable } from '../parts/live-table.ts'

const STATE_EVERY_MS = 10_000

/** If billing reads settlements with a delay of more than this, charges and the expiry of holds are late. */
const OLD_WATERMARK_MS = 30_000

/** The meaning of each state of a model, the states that need an operator first. */
export const STATES: Readonly<Record<ModelLine['state'], Meaning>> = {
  unserved: 'bad',
  starved: 'bad',
  short: 'bad',
  warming: 'busy',
  serving: 'good',
  stopped: 'off',
  off: 'off',
  fixed: 'off',
  disabled: 'off',
}
const RANKS = Object.keys(STATES)

/** The first screen: the problems of the service, the gravest first, and its load. */
export const open: OpenScreen = (app) => {
  const state = load(app, async (signal) => read('/state', {}, signal), { everyMs: STATE_EVERY_MS })
  let histories: Histories = {}
  let sparklines: Readonly<Record<string, Series>> = {}
  const live = followLive<NowView>(app, 'now', (view, at) => {
    const { cluster } = view
    histories = growHistories(view.histories, histories, {
      at,
      values: { asked: cluster.askedPerS, running: cluster.running, output: cluster.tokensPerS.completion },
    })
    sparklines = view.sparklines
  })
  const models = createLiveTable(app, byTrouble)

  return {
    title: 'Now',
    close() {
      state.close()
      live.close()
    },
    view: () =>
      html`<div class="head">
          <h1>Now</h1>
          ${asOf(live)}
        </div>
        ${booksProblems(state.value)}
        ${
          state.failure === undefined
            ? nothing
            : html`<p class="notice warn" role="alert">
                The state of the books is not known: ${state.failure.message}
              </p>`
        }
        ${liveSection(
          live,
          (view) =>
            html`${problemList(app, view.problems)} ${tiles(view.cluster, histories)}
              <section>
                <h2>Models</h2>
                ${models.view({
                  caption: 'Models now',
                  columns: modelColumns(sparklines),
                  rows: view.models,
                  drawnFrom: (row) => [row, sparklines[row.id]],
                  empty: html`No model is known. <a href="#/first-steps">First steps</a>`,
                })}
              </section>`,
        )}`,
  }
}

function byTrouble(models: readonly ModelLine[]): readonly ModelLine[] {
  const rank = ({ state }: ModelLine) => RANKS.indexOf(state)
  return models.toSorted((a, b) => rank(a) - rank(b) || b.askedPerS - a.askedPerS)
}

/** Lists the problems, the gravest first, in text that a screen reader announces when it changes. */
export function problemList(app: App, problems: readonly Problem[]): TemplateResult {
  const ranked = problems.toSorted((a, b) => (a.severity === b.severity ? 0 : a.severity === 'page' ? -1 : 1))
  return html`<div role="status">
    ${
      ranked.length === 0
        ? html`<p>${mark('good', 'No problem')}</p>`
        : html`<p>${mark('bad', ranked.length === 1 ? '1 problem' : `${ranked.length} problems`)}</p>
            <ul class="problems">
              ${ranked.map(
                ({ text, severity, since, model, runbook }) =>
                  html`<li class="notice ${severity === 'page' ? 'bad' : 'warn'}">
                    <span>${mark(severity === 'page' ? 'bad' : 'warn', text)}</span>
                    <span class="dim">since ${moment(since)}</span>
                    ${model === null ? nothing : html`<a href=${toHash(['model', model])}>model</a>`}
                    ${runbookOf(app, runbook)}
                  </li>`,
              )}
            </ul>`
    }
  </div>`
}

/** Links to the runbook if the deployment has configured where runbooks are. */
function runbookOf({ settings: { docsUrl } }: App, runbook: string): TemplateResult {
  return docsUrl === null
    ? html`<span class="dim">runbook: <code>${runbook}</code></span>`
    : html`<a href="${docsUrl}/${runbook}">runbook</a>`
}

/** Shows the problems that only billing knows. */
function booksProblems(state: Answer<'/state'> | undefined): TemplateResult | typeof nothing {
  if (state === undefined) return nothing
  const late = state.watermarks.filter(({ ageMs }) => ageMs > OLD_WATERMARK_MS)
  const alarms = state.alarms.reduce((sum, { settlements }) => sum + settlements, 0)
  const found = [
    state.reconciliation?.agrees === false ? 'The books disagree.' : undefined,
    late.length > 0
      ? `Settlements of ${late.map(({ model }) => model).join(', ')} are read late.`
      : undefined,
    state.overdueHolds > 0 ? `${state.overdueHolds} holds are overdue.` : undefined,
    alarms > 0 ? `${alarms} settlements of the last day should not exist.` : undefined,
  ].filter((text) => text !== undefined)
  return html`${found.map(
    (text) => html`<p class="notice bad">${mark('bad', text)} <a href="#/money">money</a></p>`,
  )}`
}

function tiles(cluster: ClusterNow, histories: Histories): TemplateResult {
  const refused = sum(cluster.refusedPerS)
  const history = (name: keyof Histories, what: string) => {
    const values = histories[name]?.values
    return values === undefined ? nothing : sparkline(values, `${what} over the last ten minutes`)
  }
  return html`<dl class="tiles">
    <div>
      <dt>Asked/s</dt>
      <dd>${rate(cluster.askedPerS)} ${history('asked', 'Requests a second')}</dd>
    </div>
    <div>
      <dt>Running of slots</dt>
      <dd>
        ${short(cluster.running)} <small>/ ${short(cluster.slots)}</small> ${history('running', 'Running')}
      </dd>
    </div>
    <div>
      <dt>Output tokens/s</dt>
      <dd>${short(cluster.tokensPerS.completion)} ${history('output', 'Output tokens a second')}</dd>
    </div>
    <div>
      <dt>First token, p95</dt>
      <dd>${duration(cluster.firstTokenMs.p95)} <small>p50 ${duration(cluster.firstTokenMs.p50)}</small></dd>
    </div>
    <div>
      <dt>Waiting</dt>
      <dd>
        ${cluster.waiting === null ? '–' : short(cluster.waiting)}
        <small>p95 ${duration(cluster.queueMs.p95)}</small>
      </dd>
    </div>
    <div>
      <dt>Failed (ours)</dt>
      <dd>${cluster.failedShare === null ? '–' : percent(cluster.failedShare, 1)}</dd>
    </div>
    <div>
      <dt>Refused/s</dt>
      <dd>${rate(refused)}</dd>
    </div>
    <div>
      <dt>Workers ready</dt>
      <dd>${cluster.workers.ready} <small>of ${cluster.workers.all}</small></dd>
    </div>
  </dl>`
}

function modelColumns(sparklines: Readonly<Record<string, Series>>): readonly Column<ModelLine>[] {
  return [
    {
      name: 'Model',
      cell: ({ id }) => modelLink(id),
      sortBy: ({ id }) => id,
    },
    {
      name: 'State',
      cell: ({ state }) => mark(STATES[state], state),
      sortBy: ({ state }) => state,
    },
    {
      name: 'Waiting',
      isNumber: true,
      cell: ({ waiting }) => (waiting === null ? '–' : short(waiting)),
      sortBy: ({ waiting }) => waiting ?? -1,
    },
    {
      name: 'Wait',
      isNumber: true,
      cell: ({ expectedWaitMs }) => duration(expectedWaitMs),
      sortBy: ({ expectedWaitMs }) => expectedWaitMs ?? -1,
    },
    {
      name: 'Running',
      isNumber: true,
      cell: ({ running, slots }) => html`${short(running)}/${short(slots)}${bar(running, slots)}`,
      sortBy: ({ running }) => running,
    },
    {
      name: 'Asked/s',
      isNumber: true,
      from: 'medium',
      cell: ({ askedPerS }) => rate(askedPerS),
      sortBy: ({ askedPerS }) => askedPerS,
    },
    {
      name: 'Output tok/s',
      isNumber: true,
      from: 'medium',
      cell: ({ tokensPerS }) => short(tokensPerS.completion),
      sortBy: ({ tokensPerS }) => tokensPerS.completion,
    },
    {
      name: 'First token p95',
      isNumber: true,
      from: 'wide',
      cell: ({ firstTokenMs }) => duration(firstTokenMs.p95),
      sortBy: ({ firstTokenMs }) => firstTokenMs.p95 ?? -1,
    },
    {
      name: 'Refused/s',
      isNumber: true,
      from: 'medium',
      cell: ({ refusedPerS }) => rate(sum(refusedPerS)),
      sortBy: ({ refusedPerS }) => sum(refusedPerS),
    },
    {
      name: 'Waiting, 10 min',
      from: 'wide',
      cell: ({ id }) => {
        const values = sparklines[id]?.values ?? []
        return values.length === 0 ? '–' : sparkline(values, `Waiting for ${id} over ten minutes`)
      },
    },
  ]
}

export function sum(byCode: Readonly<Record<string, number>>): number {
  return Object.values(byCode).reduce((total, value) => total + value, 0)
}

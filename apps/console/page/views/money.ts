import { html, nothing, type TemplateResult } from 'lit-html'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { shortId } from '#libs/page-parts/id.ts'
import { showList } from '#libs/page-parts/list.ts'
import { load, loadList, showLoaded } from '#libs/page-parts/load.ts'
import { mark } from '#libs/page-parts/mark.ts'
import { credits } from '#libs/page-parts/money.ts'
import { percent, short, whole } from '#libs/page-parts/number.ts'
import { table } from '#libs/page-parts/table.ts'
import { DAY_MS, duration, moment, toDay } from '#libs/page-parts/time.ts'
import { read, type Answer } from '../api.ts'
import type { App, OpenScreen } from '../app.ts'
import { createAccountNames, type AccountNames } from '../parts/account-names.ts'
import { createChart, type ChartView } from '../parts/chart.ts'
import { requestLink } from '../parts/links.ts'
import { sumOf, usageByModel, type Usage } from '../parts/usage-by-model.ts'
import { may } from '../roles.ts'
import { DAYS, toChart } from './money-chart.ts'

type Counts = Answer<'/reconciliation'>['counts']

const STATE_EVERY_MS = 10_000

/** The most rows of one answer. The screen says when there are more. */
const MOST = '500'

/** The screen of money: revenue, and whether the books agree. */
export const open: OpenScreen = (app) => {
  const today = wallClockMs()
  const from = toDay(today - (DAYS - 1) * DAY_MS)
  const span = { from, to: toDay(today), limit: MOST }
  const state = load(app, async (signal) => read('/state', {}, signal), { everyMs: STATE_EVERY_MS })
  const byDay = load(app, async (signal) => read('/usage', { ...span, by: 'day,model' }, signal))
  const byAccount = load(app, async (signal) => read('/usage', { ...span, by: 'account' }, signal))
  const runs = loadList(app, async (cursor, signal) =>
    read('/reconciliation/runs', { limit: '10', cursor }, signal),
  )
  const seals = loadList(app, async (cursor, signal) => read('/seals', { limit: '10', cursor }, signal))
  const alarms = loadList(app, async (cursor, signal) => read('/alarms', { limit: '20', cursor }, signal))
  const writeOffs = loadList(app, async (cursor, signal) =>
    read('/write-offs', { limit: '20', cursor }, signal),
  )
  const accounts = createAccountNames(app)
  const chart = createChart()
  let drawn: { rows: readonly Usage[]; chart: Parameters<ChartView['view']>[0] } | undefined

  function charged(rows: readonly Usage[]): TemplateResult {
    if (rows.length === 0) return html`<p class="empty">Nothing was charged in ${DAYS} days.</p>`
    if (drawn?.rows !== rows) drawn = { rows, chart: toChart(rows, today) }
    return html`${chart.view(drawn.chart)} ${usageByModel('Charged by model', rows)}`
  }

  return {
    title: 'Money',
    close() {
      for (const each of [state, byDay, byAccount, runs, seals, alarms, writeOffs, accounts, chart])
        each.close()
    },
    view: () =>
      html`<div class="head">
          <h1>Money</h1>
          <div class="actions">
            ${
              may(app, 'reconcile')
                ? html`<button type="button" @click=${() => compareNow(app)}>Compare the books now</button>`
                : nothing
            }
          </div>
        </div>
        ${showLoaded(state, books)}
        <section>
          <h2>Charged, ${DAYS} days</h2>
          ${showLoaded(byDay, ({ data, nextCursor }) => html`${partial(nextCursor)} ${charged(data)}`)}
        </section>
        <div class="grid">
          <section>
            <h2>Accounts by charge</h2>
            ${showLoaded(byAccount, ({ data }) => accountTable(data, accounts))}
          </section>
          <section>
            <h2>Comparisons</h2>
            ${showList(runs, (rows) =>
              table({
                caption: 'Scheduled comparisons, the newest first',
                rows,
                key: ({ at }) => at,
                empty: 'The books have not been compared yet.',
                columns: [
                  { name: 'At', cell: ({ at }) => moment(at) },
                  { name: 'Result', cell: ({ agrees }) => agreement(agrees) },
                  { name: 'Contradictions', isNumber: true, cell: ({ counts }) => whole(total(counts)) },
                ],
              }),
            )}
          </section>
        </div>
        <section>
          <h2>Alarms</h2>
          ${showList(alarms, (rows) =>
            table({
              caption: 'Settlements that should not exist, the newest first',
              rows,
              key: ({ requestId, kind, seenAt }) => `${requestId} ${kind} ${seenAt}`,
              empty: 'There is no alarm.',
              columns: [
                { name: 'Request', cell: ({ requestId }) => requestLink(requestId) },
                { name: 'Kind', cell: ({ kind }) => mark('bad', kind) },
                { name: 'Outcome', cell: ({ outcome }) => outcome },
                { name: 'Worker', from: 'medium', cell: ({ worker }) => shortId(worker) },
                { name: 'Seen', cell: ({ seenAt }) => moment(seenAt) },
              ],
            }),
          )}
        </section>
        <div class="grid">
          <section>
            <h2>Written off</h2>
            ${showList(writeOffs, (rows) =>
              table({
                caption: 'Costs that no charge could cover, the newest first',
                rows,
                key: ({ requestId }) => requestId,
                empty: 'Nothing was written off.',
                columns: [
                  { name: 'Request', cell: ({ requestId }) => requestLink(requestId) },
                  { name: 'Account', cell: ({ accountId }) => accounts.link(accountId) },
                  {
                    name: 'Written off',
                    isNumber: true,
                    cell: ({ writtenOffNano }) => credits(writtenOffNano),
                  },
                  { name: 'Settled', from: 'wide', cell: ({ settledAt }) => moment(settledAt) },
                ],
              }),
            )}
          </section>
          <section>
            <h2>Seals of the ledger</h2>
            ${showList(seals, (rows) =>
              table({
                caption: 'Daily seals, the newest first',
                rows,
                key: ({ day, lastSeq }) => `${day} ${lastSeq}`,
                empty: 'The first seal is made at the end of the first day.',
                columns: [
                  { name: 'Day', cell: ({ day }) => day },
                  { name: 'Entries', isNumber: true, cell: ({ entries }) => whole(Number(entries)) },
                  { name: 'Hash', cell: ({ sha256 }) => shortId(sha256) },
                ],
              }),
            )}
          </section>
        </div>
        <p class="links">
          <a href="/api/admin/ledger?format=csv" download="ledger.csv">The whole ledger as CSV</a>
        </p>`,
  }
}

function books(state: Answer<'/state'>): TemplateResult {
  const { reconciliation, watermarks, alarms, writeOffs, overdueHolds } = state
  const oldest = Math.max(0, ...watermarks.map(({ ageMs }) => ageMs))
  const alarmed = alarms.reduce((sum, { settlements }) => sum + settlements, 0)
  return html`<dl class="tiles">
    <div>
      <dt>Books</dt>
      <dd>${reconciliation === null ? mark('warn', 'not compared') : agreement(reconciliation.agrees)}</dd>
    </div>
    <div>
      <dt>Settlements are read to</dt>
      <dd>${duration(oldest)} <small>ago</small></dd>
    </div>
    <div>
      <dt>Alarms of 24 h</dt>
      <dd>${alarmed === 0 ? mark('good', 'none') : mark('bad', whole(alarmed))}</dd>
    </div>
    <div>
      <dt>Holds overdue</dt>
      <dd>${overdueHolds === 0 ? mark('good', 'none') : mark('bad', whole(overdueHolds))}</dd>
    </div>
    <div>
      <dt>Written off in 24 h</dt>
      <dd>${credits(writeOffs.writtenOffNano)} <small>${whole(writeOffs.requests)} requests</small></dd>
    </div>
  </dl>`
}

function agreement(agrees: boolean): TemplateResult {
  return agrees ? mark('good', 'agree') : mark('bad', 'disagree')
}

function total(counts: Counts): number {
  return counts.reduce((sum, { rows }) => sum + rows, 0)
}

function partial(nextCursor: string | null) {
  return nextCursor === null
    ? nothing
    : html`<p class="notice warn">Only the first ${MOST} sums are shown: there are more days and models.</p>`
}

function accountTable(rows: readonly Usage[], accounts: AccountNames): TemplateResult {
  const all = sumOf(rows)
  return table<Usage>({
    caption: 'Accounts, the largest charge first',
    rows: rows.toSorted((a, b) => (BigInt(a.chargedNano) < BigInt(b.chargedNano) ? 1 : -1)).slice(0, 10),
    key: ({ accountId }) => accountId ?? '',
    empty: 'No account was charged.',
    columns: [
      { name: 'Account', cell: ({ accountId }) => (accountId === null ? '–' : accounts.link(accountId)) },
      { name: 'Requests', isNumber: true, cell: ({ requests }) => short(requests) },
      { name: 'Charged', isNumber: true, cell: ({ chargedNano }) => credits(chargedNano) },
      { name: 'Share', isNumber: true, cell: ({ chargedNano }) => percent(Number(chargedNano), Number(all)) },
    ],
  })
}

/** Shows every check of the comparison with its result, which must be zero. */
function compareNow(app: App): void {
  const answer = load(app, async (signal) => read('/reconciliation', {}, signal))
  app.openDialog(
    () =>
      html`<h2 id="dialog-title">The books, compared now</h2>
        ${showLoaded(
          answer,
          ({ agrees, counts }) =>
            html`<p>${agreement(agrees)} since the newest seal. Each count must be zero.</p>
              ${table({
                caption: 'Questions',
                rows: counts,
                key: ({ question }) => question,
                empty: '',
                columns: [
                  { name: 'Question', cell: ({ question }) => question },
                  {
                    name: 'Rows',
                    isNumber: true,
                    cell: ({ rows }) => (rows === 0 ? '0' : mark('bad', whole(rows))),
                  },
                ],
              })}`,
        )}
        <div class="buttons">
          <button type="button" class="primary" @click=${() => app.closeDialog()}>Close</button>
        </div>`,
  )
}

import { html, nothing, type TemplateResult } from 'lit-html'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { openForm } from '#libs/page-parts/form.ts'
import { wholeId } from '#libs/page-parts/id.ts'
import { keyTable } from '#libs/page-parts/key-table.ts'
import { showList } from '#libs/page-parts/list.ts'
import { load, loadList, showLoaded, type Loading } from '#libs/page-parts/load.ts'
import { mark } from '#libs/page-parts/mark.ts'
import { credits, shortCredits } from '#libs/page-parts/money.ts'
import { whole } from '#libs/page-parts/number.ts'
import type { Screen } from '#libs/page-parts/page-app.ts'
import { toHash } from '#libs/page-parts/route.ts'
import { sparkline } from '#libs/page-parts/sparkline.ts'
import { table, type Column } from '#libs/page-parts/table.ts'
import { DAY_MS, duration, moment, toDay } from '#libs/page-parts/time.ts'
import { change, read, type Answer, type Item } from '../api.ts'
import type { App, OpenScreen } from '../app.ts'
import { requestLink } from '../parts/links.ts'
import { sumOf, usageByModel, type Usage } from '../parts/usage-by-model.ts'
import { may } from '../roles.ts'
import { changeWeight, closeOrReopen, moveCredits } from './account-forms.ts'
import { keyForms, toShownKey } from './keys.ts'
import { createManagementKey, managementKeyTable } from './management-keys.ts'

type Account = Answer<'/accounts/{account}'>
type Hold = Item<'/holds'>

/** The number of whole days from which the mean charge of one day is computed. */
const MEAN_DAYS = 7
const USAGE_DAYS = 30

/** The most rows of one answer. The usage has one row for each day and model. */
const USAGE_ROWS = '500'

/** The screen of one account: its balance, keys, usage and open holds, and every operation on them. */
export const open: OpenScreen = (app, { path }): Screen => {
  const id = path[1] ?? ''
  const account = load(app, async (signal) => read('/accounts/{account}', { account: id }, signal))
  const keys = loadList(app, async (cursor, signal) =>
    read('/keys', { account: id, limit: '50', cursor }, signal),
  )
  const managers = loadList(app, async (cursor, signal) =>
    read('/management-keys', { account: id, limit: '20', cursor }, signal),
  )
  const holds = loadList(app, async (cursor, signal) =>
    read('/holds', { account: id, limit: '20', cursor }, signal),
  )
  const today = wallClockMs()
  const usage = load(app, async (signal) =>
    read(
      '/usage',
      {
        account: id,
        from: toDay(today - (USAGE_DAYS - 1) * DAY_MS),
        to: toDay(today),
        by: 'day,model',
        limit: USAGE_ROWS,
      },
      signal,
    ),
  )

  function changed(): void {
    account.reload()
    keys.reload()
    managers.reload()
    holds.reload()
  }

  return {
    title: 'Account',
    close() {
      for (const each of [account, keys, managers, holds, usage]) each.close()
    },
    view: () =>
      showLoaded(
        account,
        (found) =>
          html`${heading(app, found, changed)} ${balance(found, usage)}
            <section>
              <div class="head">
                <h2>Keys</h2>
                ${
                  may(app, 'createKey')
                    ? html`<button type="button" @click=${keyForms(app, found, changed).create}>
                        New key
                      </button>`
                    : nothing
                }
              </div>
              ${showList(keys, (entries) =>
                keyTable({
                  caption: 'Keys, the newest first',
                  keys: entries.map(toShownKey),
                  availableNano: found.availableNano,
                  forms: may(app, 'revokeKey') ? keyForms(app, found, changed) : undefined,
                  empty: 'This account has no key, so nothing can spend its credits.',
                }),
              )}
            </section>
            <section>
              <div class="head">
                <h2>Management keys</h2>
                ${
                  may(app, 'createManagementKey')
                    ? html`<button type="button" @click=${() => createManagementKey(app, found, changed)}>
                        New management key
                      </button>`
                    : nothing
                }
              </div>
              ${showList(managers, (entries) => managementKeyTable(app, { entries, changed }))}
            </section>
            <section>
              <h2>Usage of ${USAGE_DAYS} days</h2>
              ${showLoaded(usage, ({ data }) => usageSummary(data, today))}
            </section>
            <section>
              <h2>Open holds</h2>
              ${showList(holds, (entries) => holdTable(app, entries, changed))}
            </section>
            <p class="links">
              <a
                href=${`/api/admin/ledger?account=${encodeURIComponent(id)}&format=csv`}
                download="ledger-${id}.csv"
                >Ledger as CSV</a
              >
              <a href=${toHash(['log'], { target: id })}>Log of this account</a>
              <a href=${toHash(['requests'], { account: id })}>Requests of this account</a>
            </p>`,
      ),
  }
}

function heading(app: App, account: Account, changed: () => void): TemplateResult {
  const isOpen = account.status === 'active'
  return html`<div class="head">
      <h1><bdi>${account.name}</bdi> ${isOpen ? mark('good', 'active') : mark('off', 'closed')}</h1>
      <div class="actions">
        ${
          may(app, 'topUp')
            ? html`<button
                  type="button"
                  class="primary"
                  @click=${() => moveCredits(app, { account, kind: 'topup', changed })}
                >
                  Top up
                </button>
                <button
                  type="button"
                  @click=${() => moveCredits(app, { account, kind: 'adjustment', changed })}
                >
                  Adjust
                </button>
                <button type="button" @click=${() => changeWeight(app, account, changed)}>
                  Change weight
                </button>
                <button
                  type="button"
                  class=${isOpen ? 'warned' : ''}
                  @click=${() => closeOrReopen(app, account, changed)}
                >
                  ${isOpen ? 'Close account' : 'Reopen account'}
                </button>`
            : nothing
        }
      </div>
    </div>
    <p class="dim">
      ${wholeId(account.id, (text) => app.say(text))} · weight ${whole(account.weight)} · created
      ${moment(account.createdAt)}
    </p>`
}

function balance(account: Account, usage: Loading<Answer<'/usage'>>): TemplateResult {
  const { availableNano, postedNano, heldNano, openHolds } = account
  return html`<dl class="tiles">
    <div>
      <dt>Available</dt>
      <dd>${credits(availableNano)}</dd>
    </div>
    <div>
      <dt>Posted</dt>
      <dd>${credits(postedNano)}</dd>
    </div>
    <div>
      <dt>Held by ${whole(openHolds)} open requests</dt>
      <dd>${credits(heldNano)}</dd>
    </div>
    <div>
      <dt>At the mean of ${MEAN_DAYS} days</dt>
      <dd>${usage.value === undefined ? '…' : daysLeft(BigInt(availableNano), usage.value.data)}</dd>
    </div>
  </dl>`
}

/** Estimates from whole days only, because today has not ended. */
function daysLeft(available: bigint, rows: readonly Usage[]): string {
  const now = wallClockMs()
  const [first, today] = [toDay(now - MEAN_DAYS * DAY_MS), toDay(now)]
  const spent = sumOf(rows.filter(({ day }) => day !== null && day >= first && day < today))
  if (spent === 0n) return 'nothing spent'
  const perDay = spent / BigInt(MEAN_DAYS)
  if (perDay === 0n) return 'for years'
  return `${whole(Number(available / perDay))} days left at ${shortCredits(perDay)} a day`
}

function usageSummary(rows: readonly Usage[], todayMs: number): TemplateResult {
  if (rows.length === 0) return html`<p class="empty">No request was settled.</p>`
  const days = Array.from({ length: USAGE_DAYS }, (_, index) =>
    toDay(todayMs - (USAGE_DAYS - 1 - index) * DAY_MS),
  )
  const byDay = days.map((day) => sumOf(rows.filter((row) => row.day === day)))
  const sentence = `Charged by day: today ${shortCredits(byDay.at(-1) ?? 0n)}, in all ${shortCredits(sumOf(rows))} credits`
  return html`<p>
      ${sparkline(
        byDay.map((nano) => Number(nano)),
        sentence,
      )}
      ${sentence}.
    </p>
    ${usageByModel('Usage by model', rows)}`
}

function holdTable(app: App, holds: readonly Hold[], changed: () => void): TemplateResult {
  const columns: Column<Hold>[] = [
    { name: 'Request', cell: ({ id }) => requestLink(id) },
    { name: 'Model', cell: ({ model }) => model },
    { name: 'Held', isNumber: true, cell: ({ amountNano }) => credits(amountNano) },
    { name: 'Age', isNumber: true, cell: ({ ageSeconds }) => duration(ageSeconds * 1_000) },
    { name: 'May expire', from: 'medium', cell: ({ expiresAt }) => moment(expiresAt) },
  ]
  if (may(app, 'releaseHold')) {
    columns.push({
      name: 'Actions',
      cell: (hold) =>
        html`<button type="button" class="quiet danger" @click=${() => releaseHold(app, hold, changed)}>
          release
        </button>`,
    })
  }
  return table({
    caption: 'Open holds, the newest first',
    columns,
    rows: holds,
    key: ({ id }) => id,
    empty: 'No request is open.',
  })
}

function releaseHold(app: App, { id }: Hold, changed: () => void): void {
  openForm(app, {
    title: 'Release a hold',
    intro: html`<p>
      Frees the credits of the request <code class="id">${id}</code>. If it still runs, its settlement will
      charge nothing and raise the alarm <em>released</em>.
    </p>`,
    fields: [{ name: 'reason', label: 'Reason', isRequired: true }],
    button: 'Release the hold',
    isDangerous: true,
    mayRepeat: false,
    async run({ reason = '' }) {
      const { freedNano } = await change('/holds/{hold}/release', { hold: id, reason })
      app.say(`${shortCredits(BigInt(freedNano))} credits are free again.`)
      changed()
      return undefined
    },
  })
}

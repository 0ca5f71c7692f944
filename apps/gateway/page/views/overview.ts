import { html, nothing, type TemplateResult } from 'lit-html'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { PERIODS } from '#libs/page-parts/key-table.ts'
import { load, showLoaded } from '#libs/page-parts/load.ts'
import { mark } from '#libs/page-parts/mark.ts'
import { credits, exactCredits } from '#libs/page-parts/money.ts'
import { whole } from '#libs/page-parts/number.ts'
import { bar } from '#libs/page-parts/sparkline.ts'
import { duration, moment } from '#libs/page-parts/time.ts'
import type { OwnKey } from '#libs/account-contract/resources/own.ts'
import type { OpenScreen } from '../app.ts'
import { nextReset, type Reset } from '../resets.ts'
import { showUsage } from './usage.ts'

/** The screen that shows the spendable credits, the amounts that bound them, and the use of the last 30 days. */
export const open: OpenScreen = (app) => {
  const activity = load(app, async (signal) => await app.api.readActivity(signal))
  return {
    title: 'Overview',
    close: () => activity.close(),
    view: () =>
      html`<h1>Overview</h1>
        ${showLoaded(app.key, (key) => showKey(key, wallClockMs()))}
        <section>
          <h2>The last 30 days</h2>
          ${showLoaded(activity, (days) => showUsage(days))}
        </section>`,
  }
}

function showKey(key: OwnKey, nowMs: number): TemplateResult {
  const isManager = key.is_management_key
  return html`${isManager ? showAccount(key) : showSpendable(key, nowMs)}
    <section>
      <h2>Charged to ${isManager ? 'the account' : 'this key'}</h2>
      <dl class="tiles">
        ${(
          [
            ['today', key.nano.usage_daily],
            ['this week', key.nano.usage_weekly],
            ['this month', key.nano.usage_monthly],
            ['in all', key.nano.usage],
          ] as const
        ).map(
          ([name, nano]) =>
            html`<div>
              <dt>${name}</dt>
              <dd>${credits(nano)}</dd>
            </div>`,
        )}
      </dl>
    </section>
    ${
      isManager
        ? nothing
        : html`<section>
            <h2>Limits of this key</h2>
            ${showLimits(key, nowMs)}
          </section>`
    }`
}

/** A management key has no limit of its own, because it spends nothing. */
function showAccount({ nano }: OwnKey): TemplateResult {
  return html`<div class="spendable">
    <p class="figure"><strong>${credits(nano.available)}</strong> credits are available in the account</p>
    <p>
      ${credits(nano.held)} more are held by running requests. This is a management key: it spends nothing
      itself;
      <a href="#/keys">the account’s keys</a> do.
    </p>
  </div>`
}

/**
 * Shows the spendable credits, and the two amounts that bound them: the rest of the key's limit, and the account's
 * available credits. Marks the smaller amount.
 */
function showSpendable(key: OwnKey, nowMs: number): TemplateResult {
  const { nano, limit_reset: reset } = key
  const left = nano.limit_remaining
  const isKeyLess = left !== null && BigInt(left) < BigInt(nano.available)
  const isNothing = BigInt(nano.spendable) <= 0n
  return html`<div class="spendable">
    <p class="figure">
      <strong>${credits(nano.spendable)}</strong> credits can be spent now
      ${isNothing ? mark('bad', 'requests are refused with 402') : nothing}
    </p>
    <dl class="facts">
      <dt>${mark(isKeyLess ? 'warn' : 'off', 'Limit of the key')}</dt>
      <dd>
        ${
          left === null || nano.limit === null
            ? 'none: the account’s credits are the only bound'
            : html`${credits(left)} left of ${credits(nano.limit)}
              ${reset === null ? 'in all' : PERIODS[reset]}${share(left, nano.limit)}
              ${reset === null ? nothing : html`· ${showReset(reset, nowMs)}`}
              ${isKeyLess ? html`<b>· this is the lesser</b>` : nothing}`
        }
      </dd>
      <dt>${mark(isKeyLess || left === null ? 'off' : 'warn', 'Credits of the account')}</dt>
      <dd>
        ${credits(nano.available)} available, ${credits(nano.held)} more held by running requests
        ${isKeyLess || left === null ? nothing : html`<b>· this is the lesser</b>`}
      </dd>
    </dl>
  </div>`
}

/** Draws a bar in 1,000 steps; the exact numbers stand beside it. */
function share(left: string, limit: string): TemplateResult {
  const all = BigInt(limit)
  return bar(all <= 0n ? 0 : Number((1_000n * (BigInt(left) < 0n ? 0n : BigInt(left))) / all), 1_000)
}

function showReset(reset: Reset, nowMs: number): TemplateResult {
  const at = nextReset(reset, nowMs)
  return html`begins anew ${moment(new Date(at).toISOString(), nowMs)} UTC, in ${duration(at - nowMs)}`
}

function showLimits(key: OwnKey, nowMs: number): TemplateResult {
  const { nano, limit_reset: reset, models, expires_at: expires } = key
  const perMinute = (count: number | null) =>
    count === null ? 'no limit' : `${whole(count)} a minute; begins anew with each minute of the clock`
  return html`<dl class="facts card">
    <dt>Credits</dt>
    <dd>
      ${
        nano.limit === null
          ? 'no limit'
          : html`${exactCredits(nano.limit)}
            ${reset === null ? 'in all; never begins anew' : html`${reset}, ${showReset(reset, nowMs)}`}`
      }
    </dd>
    <dt>Requests</dt>
    <dd>${perMinute(key.requests_per_minute)}</dd>
    <dt>Tokens</dt>
    <dd>${perMinute(key.tokens_per_minute)}</dd>
    <dt>Models</dt>
    <dd>
      ${
        models === null
          ? 'all'
          : models.map((id, index) => html`${index === 0 ? '' : ', '}<code class="id">${id}</code>`)
      }
    </dd>
    <dt>Valid</dt>
    <dd>${expires === null ? 'until it is revoked' : html`until ${moment(expires, nowMs)} UTC`}</dd>
  </dl>`
}

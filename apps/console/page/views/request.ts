import { html, nothing, svg, type TemplateResult } from 'lit-html'
import { read, type Answer } from '../api.ts'
import type { App, OpenScreen } from '../app.ts'
import { shortId, wholeId, copy } from '../parts/id.ts'
import { load, showFailure, showWaiting } from '../parts/load.ts'
import { mark, type Meaning } from '../parts/mark.ts'
import { exactCredits, pricePerMillion } from '../parts/money.ts'
import { whole } from '../parts/number.ts'
import { duration, moment } from '../parts/time.ts'
import { toHash } from '../route.ts'

type RequestRecord = Answer<'/requests/{request}'>
type Settlement = NonNullable<RequestRecord['settlement']>
type Hold = NonNullable<RequestRecord['hold']>
type Prices = NonNullable<RequestRecord['prices']>
type Timing = NonNullable<RequestRecord['timing']>

const OUTCOMES: Readonly<Record<Settlement['outcome'], Meaning>> = {
  completed: 'good',
  cancelled: 'off',
  fault: 'bad',
  'never-ran': 'warn',
}

/** An open request may end at any moment. */
const OPEN_EVERY_MS = 3_000

/** Why was it slow, why this charge? */
export const open: OpenScreen = (app, { path }) => {
  const id = path[1] ?? ''
  const request = load(app, async (signal) => read('/requests/{request}', { request: id }, signal), {
    everyMs: OPEN_EVERY_MS,
  })
  let isFinal = false
  return {
    title: 'Request',
    close: () => request.close(),
    view() {
      const { value, failure } = request
      if (failure?.status === 404 || failure?.status === 400) {
        request.close()
        return neverHeld(id)
      }
      if (value === undefined)
        return failure === undefined ? showWaiting() : showFailure(failure, request.reload)
      if (!isFinal && value.settlement !== null) {
        isFinal = true
        request.close()
      }
      return html`${failure === undefined ? nothing : showFailure(failure, request.reload)}
      ${show(app, value)}`
    },
  }
}

function neverHeld(id: string): TemplateResult {
  return html`<h1>Request</h1>
    <p class="notice warn">
      Billing has nothing of <code class="id">${id}</code>: nothing was ever held. It was refused (401, 402,
      404, 429 or 503), or the id is wrong. A refusal is in the <a href="#/requests">live tail</a> while it
      lasts.
    </p>`
}

function show(app: App, record: RequestRecord): TemplateResult {
  const { id, accountId, keyId, model, hold, prices, settlement, alarms, timing } = record
  const json = JSON.stringify(record, null, 2)
  return html`<div class="head">
      <h1>Request ${state(settlement, hold, timing)}</h1>
      <button type="button" @click=${() => void copy(json, app.say)}>Copy as JSON</button>
    </div>
    <p>${wholeId(id, app.say)}</p>
    <dl class="facts">
      ${
        accountId === null
          ? nothing
          : html`<dt>Account</dt>
              <dd><a href=${toHash(['account', accountId])}>${shortId(accountId)}</a></dd>`
      }
      ${
        keyId === null
          ? nothing
          : html`<dt>Key</dt>
              <dd>${shortId(keyId)}</dd>`
      }
      ${
        model === null
          ? nothing
          : html`<dt>Model</dt>
              <dd><a href=${toHash(['model', model])}>${model}</a></dd>`
      }
      ${
        settlement === null
          ? nothing
          : html`<dt>Settled</dt>
              <dd>
                ${moment(settlement.settledAt)} by ${shortId(settlement.worker)}, attempt ${settlement.epoch}
              </dd>`
      }
    </dl>
    <section>
      <h2>Time</h2>
      ${
        timing === null
          ? html`<p class="dim">
              ${
                settlement === null
                  ? 'Times are known when it has ended.'
                  : 'No times are kept: it is older than 90 days, or ran in an older release.'
              }
            </p>`
          : times(timing, settlement)
      }
    </section>
    ${
      settlement === null || prices === null
        ? nothing
        : html`<section>
            <h2>Charge</h2>
            ${charge(settlement, prices)}
          </section>`
    }
    ${
      hold === null
        ? nothing
        : html`<section>
            <h2>Hold</h2>
            ${showHold(hold, settlement)}
          </section>`
    }
    ${
      alarms.length === 0
        ? nothing
        : html`<section>
            <h2>Alarms</h2>
            ${alarms.map(
              ({ kind, seenAt, outcome }) =>
                html`<p class="notice bad">
                  ${mark('bad', kind)} at ${moment(seenAt)}: a settlement as ${outcome}
                </p>`,
            )}
          </section>`
    }`
}

function state(settlement: Settlement | null, hold: Hold | null, timing: Timing | null): TemplateResult {
  if (settlement === null)
    return mark('busy', hold?.state === 'held' ? 'running' : (hold?.state ?? 'unknown'))
  const reason = timing?.errorCode ?? timing?.finishReason
  return mark(OUTCOMES[settlement.outcome], reason ? `${settlement.outcome} · ${reason}` : settlement.outcome)
}

function times(timing: Timing, settlement: Settlement | null): TemplateResult {
  const { waitedMs, firstTokenMs, ranMs } = timing
  const wroteMs = ranMs === null ? null : ranMs - (firstTokenMs ?? 0)
  const tokens = settlement?.completionTokens ?? 0
  const perS =
    wroteMs !== null && wroteMs > 0 && firstTokenMs !== null ? Math.round((tokens * 1_000) / wroteMs) : null
  const parts = [
    { name: 'waited', ms: waitedMs, text: `waited ${duration(waitedMs)}` },
    { name: 'first', ms: firstTokenMs, text: `first token after ${duration(firstTokenMs)}` },
    {
      name: 'wrote',
      ms: wroteMs,
      text: `wrote ${whole(tokens)} tokens in ${duration(wroteMs)}${perS === null ? '' : ` · ${whole(perS)} tokens/s`}`,
    },
  ]
  return html`${timeline(parts)}
    <ol>
      ${parts.map(({ ms, text }) => (ms === null ? nothing : html`<li>${text}</li>`))}
    </ol>
    ${why(timing)}`
}

/** One bar for each part of a request's time, each beginning where the one before ends. */
function timeline(parts: readonly { name: string; ms: number | null; text: string }[]): TemplateResult {
  const known = parts.map(({ name, ms }) => ({ name, ms: Math.max(0, ms ?? 0) }))
  const all = known.reduce((sum, { ms }) => sum + ms, 0)
  if (all === 0) return html``
  let start = 0
  const bars = known.map(({ name, ms }, index) => {
    const x = (1_000 * start) / all
    start += ms
    const width = Math.max(ms === 0 ? 0 : 2, (1_000 * ms) / all)
    return svg`<rect class=${name} x=${x.toFixed(1)} y=${index * 16} width=${width.toFixed(1)} height="12" rx="2" />`
  })
  return html`<svg
    class="timeline"
    viewBox="0 0 1000 48"
    preserveAspectRatio="none"
    role="img"
    aria-label=${parts.map(({ text }) => text).join(', ')}
  >
    ${bars}
  </svg>`
}

function why({ waitedMs, firstTokenMs, ranMs, ahead }: Timing) {
  const all = (waitedMs ?? 0) + (ranMs ?? 0)
  if (all === 0) return nothing
  const queue = ahead === null ? '' : `: ${whole(ahead)} were ahead when it was admitted`
  if ((waitedMs ?? 0) > all / 2) return html`<p>Most of its time it waited${queue}.</p>`
  if ((firstTokenMs ?? 0) > all / 2)
    return html`<p>Most of its time the engine read the prompt, before the first token.</p>`
  return html`<p>
    Most of its time it wrote.${ahead === null ? '' : ` ${whole(ahead)} were ahead when it was admitted.`}
  </p>`
}

function charge(settlement: Settlement, prices: Prices): TemplateResult {
  const { promptTokens, cachedTokens, completionTokens, chargedNano, costNano, writtenOffNano, late } =
    settlement
  const fresh = promptTokens - cachedTokens
  return html`<dl class="facts">
    <dt>Input</dt>
    <dd>${whole(fresh)} tokens × ${pricePerMillion(prices.inputPriceNano)} credits a million</dd>
    <dt>Cached input</dt>
    <dd>${whole(cachedTokens)} tokens × ${pricePerMillion(prices.cachedInputPriceNano)}</dd>
    <dt>Output</dt>
    <dd>${whole(completionTokens)} tokens × ${pricePerMillion(prices.outputPriceNano)}</dd>
    <dt>Cost</dt>
    <dd>${whole(Number(costNano))} nano-credits</dd>
    <dt>Charged</dt>
    <dd><strong>${exactCredits(chargedNano)} credits</strong></dd>
    <dt>Written off</dt>
    <dd>${exactCredits(writtenOffNano)}${late ? ' · it was late: its hold had expired' : ''}</dd>
    <dt>Prices</dt>
    <dd>version ${prices.version}, since ${moment(prices.effectiveFrom)}</dd>
  </dl>`
}

function showHold(hold: Hold, settlement: Settlement | null): TemplateResult {
  const given = settlement === null ? null : BigInt(hold.amountNano) - BigInt(settlement.chargedNano)
  return html`<dl class="facts">
    <dt>State</dt>
    <dd>${hold.state}${hold.clamped ? ' · credits alone made the grant smaller than wanted' : ''}</dd>
    <dt>Held</dt>
    <dd>
      ${exactCredits(hold.amountNano)} credits${given === null ? '' : `, ${exactCredits(given)} given back`}
    </dd>
    <dt>Input</dt>
    <dd>
      estimated
      ${whole(hold.estimatedInputTokens)}${
        hold.exactInputTokens === null ? '' : `, exact ${whole(hold.exactInputTokens)}`
      }
      tokens
    </dd>
    <dt>Output</dt>
    <dd>wanted ${whole(hold.wantedTokens)}, granted ${whole(hold.grantedTokens)} tokens</dd>
    <dt>Made</dt>
    <dd>${moment(hold.createdAt)}</dd>
    <dt>${hold.closedAt === null ? 'May expire' : 'Closed'}</dt>
    <dd>${moment(hold.closedAt ?? hold.expiresAt)}</dd>
  </dl>`
}

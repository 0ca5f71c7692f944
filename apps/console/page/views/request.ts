import { html, nothing, type TemplateResult } from 'lit-html'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { showTokens } from '#libs/page-parts/charge.ts'
import { shortId } from '#libs/page-parts/id.ts'
import { load, showFailure, showWaiting } from '#libs/page-parts/load.ts'
import { mark } from '#libs/page-parts/mark.ts'
import { exactCredits } from '#libs/page-parts/money.ts'
import { whole } from '#libs/page-parts/number.ts'
import { NO_TIMES, requestHead, showOutcome } from '#libs/page-parts/request-state.ts'
import { showTimes } from '#libs/page-parts/request-times.ts'
import { toHash } from '#libs/page-parts/route.ts'
import { moment } from '#libs/page-parts/time.ts'
import { read, type Answer } from '../api.ts'
import type { App, OpenScreen } from '../app.ts'
import { isFinal } from '../parts/is-final.ts'
import { modelLink } from '../parts/links.ts'

type RequestRecord = Answer<'/requests/{request}'>
type Settlement = NonNullable<RequestRecord['settlement']>
type Hold = NonNullable<RequestRecord['hold']>
type Prices = NonNullable<RequestRecord['prices']>
type Timing = NonNullable<RequestRecord['timing']>

/** How often an open request is read again, because it may end at any moment. */
const OPEN_EVERY_MS = 3_000

/** The screen of one request: its times and its charge. */
export const open: OpenScreen = (app, { path }) => {
  const id = path[1] ?? ''
  const request = load(app, async (signal) => read('/requests/{request}', { request: id }, signal), {
    everyMs: OPEN_EVERY_MS,
  })
  let isClosed = false
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
      if (!isClosed && isFinal(value, wallClockMs())) {
        isClosed = true
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
  return html`${requestHead(app, { id, state: state(settlement, hold, timing), record })}
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
              <dd>${modelLink(model)}</dd>`
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
              ${isFinal(record, wallClockMs()) ? NO_TIMES : 'Times are known when it has ended.'}
            </p>`
          : showTimes({ ...timing, completionTokens: settlement?.completionTokens ?? 0 })
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
  return showOutcome(settlement.outcome, timing?.errorCode ?? timing?.finishReason ?? null)
}

function charge(settlement: Settlement, prices: Prices): TemplateResult {
  const { promptTokens, cachedTokens, completionTokens, chargedNano, costNano, writtenOffNano, late } =
    settlement
  return html`<dl class="facts">
    ${showTokens(
      { prompt: promptTokens, cached: cachedTokens, completion: completionTokens },
      {
        input: prices.inputPriceNano,
        cachedInput: prices.cachedInputPriceNano,
        output: prices.outputPriceNano,
      },
    )}
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

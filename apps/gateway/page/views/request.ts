import { html, nothing, type TemplateResult } from 'lit-html'
import { showTokens } from '#libs/page-parts/charge.ts'
import { load, showFailure, showWaiting } from '#libs/page-parts/load.ts'
import { exactCredits } from '#libs/page-parts/money.ts'
import { mark } from '#libs/page-parts/mark.ts'
import { NO_TIMES, requestHead, showOutcome } from '#libs/page-parts/request-state.ts'
import { showTimes } from '#libs/page-parts/request-times.ts'
import { moment } from '#libs/page-parts/time.ts'
import type { Receipt } from '#libs/account-contract/resources/generations.ts'
import type { App, OpenScreen } from '../app.ts'

/** A running request may end at any moment, so its receipt is read again this often. */
const RUNNING_EVERY_MS = 3_000

/** The screen that explains the duration and the charge of one request. */
export const open: OpenScreen = (app, { path }) => {
  const id = path[1] ?? ''
  const receipt = load(app, async (signal) => await app.api.readReceipt(id, signal), {
    everyMs: RUNNING_EVERY_MS,
  })
  return {
    title: 'Request',
    close: () => receipt.close(),
    view() {
      const { value, failure } = receipt
      if (failure?.status === 404 || failure?.status === 400) {
        receipt.close()
        return notFound(id, failure.message)
      }
      if (value !== undefined && value.status !== 'running') receipt.close()
      return html`${failure === undefined ? nothing : showFailure(failure, receipt.reload)}
      ${value === undefined ? (failure === undefined ? showWaiting() : nothing) : show(app, value)}`
    },
  }
}

/** Shows the state of a request, or how it ended. */
export function showReceiptState({ status, outcome, error_code: code, finish_reason: reason }: Receipt) {
  return outcome === null
    ? mark(status === 'running' ? 'busy' : 'off', status)
    : showOutcome(outcome, code ?? reason)
}

function notFound(id: string, message: string): TemplateResult {
  return html`<h1>Request</h1>
    <p class="notice warn"><code class="id">${id}</code>: ${message}</p>
    <p>
      A key reads its own requests. One that was refused (400, 401, 402, 404, 429 or 503) has no receipt:
      nothing was held and nothing charged.
    </p>
    <p><a href="#/requests">The requests of this key</a></p>`
}

function show(app: App, receipt: Receipt): TemplateResult {
  const { id, model, created_at: createdAt, streamed, nano } = receipt
  return html`${requestHead(app, { id, state: showReceiptState(receipt), record: { data: receipt } })}
    <dl class="facts card">
      <dt>Model</dt>
      <dd><bdi>${model}</bdi></dd>
      <dt>Began</dt>
      <dd>${moment(createdAt)} UTC</dd>
      ${
        streamed === null
          ? nothing
          : html`<dt>Answer</dt>
              <dd>${streamed ? 'streamed' : 'in one piece'}</dd>`
      }
    </dl>
    <section>
      <h2>Time</h2>
      ${showTime(receipt)}
    </section>
    <section>
      <h2>Charge</h2>
      ${
        nano.total_cost === null
          ? html`<p class="dim">
              ${
                receipt.status === 'running'
                  ? 'What it costs is known when it has ended.'
                  : 'Nothing was charged: it never ended with a settlement.'
              }
            </p>`
          : showCharge(receipt, nano.total_cost)
      }
    </section>
    <section>
      <h2>Hold</h2>
      ${showHold(receipt)}
    </section>`
}

function showTime(receipt: Receipt): TemplateResult {
  const { waited_ms: waitedMs, latency, generation_time: ranMs, ahead, tokens_completion: tokens } = receipt
  if (receipt.status === 'running') return html`<p class="dim">Times are known when it has ended.</p>`
  if (waitedMs === null && ranMs === null) {
    return html`<p class="dim">${NO_TIMES}</p>`
  }
  const firstTokenMs = latency === null || waitedMs === null ? null : latency - waitedMs
  return html`<div class="card">
    ${showTimes({ waitedMs, firstTokenMs, ranMs, ahead, completionTokens: tokens ?? 0 })}
  </div>`
}

function showCharge(receipt: Receipt, chargedNano: string): TemplateResult {
  const { prices, native_tokens_reasoning: reasoning } = receipt
  return html`<dl class="facts card">
    ${showTokens(
      {
        prompt: receipt.tokens_prompt ?? 0,
        cached: receipt.native_tokens_cached ?? 0,
        completion: receipt.tokens_completion ?? 0,
      },
      { input: prices.input_nano, cachedInput: prices.cached_input_nano, output: prices.output_nano },
    )}
    ${
      reasoning === null || reasoning === 0
        ? nothing
        : html`<dt>Of the output</dt>
            <dd>${reasoning} tokens of reasoning</dd>`
    }
    <dt>Charged</dt>
    <dd>
      <strong>${exactCredits(chargedNano)} credits</strong>
    </dd>
  </dl>`
}

function showHold({ hold, status, nano }: Receipt): TemplateResult {
  const back = nano.total_cost === null ? null : BigInt(hold.nano) - BigInt(nano.total_cost)
  return html`<dl class="facts card">
    <dt>Held</dt>
    <dd>
      ${exactCredits(hold.nano)}
      credits${
        back === null
          ? status === 'running'
            ? ', until it ends'
            : ', given back'
          : back > 0n
            ? `, ${exactCredits(back)} given back`
            : ''
      }
    </dd>
    ${
      hold.clamped
        ? html`<dt>Bounded</dt>
            <dd>Credits alone made the output that was allowed shorter than wanted.</dd>`
        : nothing
    }
  </dl>`
}

import { toCreditsNumber } from '#libs/money/price-usage.ts'
import type { Activity as ActivityMessage } from '#proto/types/millrace/billing/Activity.ts'
import type { Generation__Output } from '#proto/types/millrace/billing/Generation.ts'
import type { KeyState__Output } from '#proto/types/millrace/billing/KeyState.ts'
import { Receipt, type Activity, type CreditsAnswer, type KeyAnswer } from './schemas.ts'

const RESETS = { day: 'daily', week: 'weekly', month: 'monthly' } as const

const toCredits = (nano: string) => toCreditsNumber(BigInt(nano))
const orNull = <Value>(value: Value | undefined) => value ?? null
const textOrNull = (text: string) => (text === '' ? null : text)
const countOrNull = (count: number) => (count === 0 ? null : count)
const timeOf = (ms: string) => new Date(Number(ms)).toISOString()

/** A management key spends nothing. */
export function toKeyAnswer(key: KeyState__Output, isManagementKey: boolean): KeyAnswer {
  const { limit, usage } = key
  const available = String(BigInt(key.postedNano) - BigInt(key.heldNano))
  const left = limit?.leftNano ?? available
  const nano = {
    usage: usage?.totalNano ?? '0',
    usage_daily: usage?.dayNano ?? '0',
    usage_weekly: usage?.weekNano ?? '0',
    usage_monthly: usage?.monthNano ?? '0',
    limit: limit?.amountNano ?? null,
    limit_remaining: limit?.leftNano ?? null,
    available,
    held: key.heldNano,
    spendable: isManagementKey ? '0' : BigInt(left) < BigInt(available) ? left : available,
  }
  const period = limit?.period
  return {
    data: {
      label: key.label,
      name: textOrNull(key.name),
      usage: toCredits(nano.usage),
      usage_daily: toCredits(nano.usage_daily),
      usage_weekly: toCredits(nano.usage_weekly),
      usage_monthly: toCredits(nano.usage_monthly),
      limit: nano.limit === null ? null : toCredits(nano.limit),
      limit_remaining: nano.limit_remaining === null ? null : toCredits(nano.limit_remaining),
      limit_reset: period === 'day' || period === 'week' || period === 'month' ? RESETS[period] : null,
      expires_at: key.expiresAtMs === '0' ? null : timeOf(key.expiresAtMs),
      is_management_key: isManagementKey,
      is_free_tier: false,
      models: key.models?.ids ?? null,
      requests_per_minute: countOrNull(key.requestsPerMinute),
      tokens_per_minute: countOrNull(Number(key.tokensPerMinute)),
      available: toCredits(nano.available),
      held: toCredits(nano.held),
      spendable: toCredits(nano.spendable),
      nano,
    },
  }
}

/** What was charged is what was credited and is not there any more. */
export function toCreditsAnswer(key: KeyState__Output): CreditsAnswer {
  const nano = {
    total_credits: key.creditedNano,
    total_usage: String(BigInt(key.creditedNano) - BigInt(key.postedNano)),
    available: String(BigInt(key.postedNano) - BigInt(key.heldNano)),
    held: key.heldNano,
  }
  return {
    data: {
      total_credits: toCredits(nano.total_credits),
      total_usage: toCredits(nano.total_usage),
      available: toCredits(nano.available),
      held: toCredits(nano.held),
      nano,
    },
  }
}

export function toReceipt(generation: Generation__Output): Receipt {
  const { settled, timing } = generation
  const [waited, first] = [timing?.waitedMs, timing?.firstTokenMs]
  const cost = settled?.chargedNano ?? null
  const credits = cost === null ? null : toCredits(cost)
  return {
    id: generation.id,
    status: Receipt.shape.status.parse(generation.state === 'held' ? 'running' : generation.state),
    outcome: settled === null ? null : Receipt.shape.outcome.parse(settled.outcome),
    model: generation.model,
    created_at: timeOf(generation.createdAtMs),
    streamed: orNull(timing?.streamed),
    cancelled: settled === null ? null : settled.outcome === 'cancelled',
    finish_reason: textOrNull(timing?.finishReason ?? ''),
    error_code: textOrNull(timing?.errorCode ?? ''),
    waited_ms: orNull(waited),
    ahead: orNull(timing?.ahead),
    latency: waited === undefined || first === undefined ? null : waited + first,
    generation_time: orNull(timing?.ranMs),
    tokens_prompt: orNull(settled?.promptTokens),
    tokens_completion: orNull(settled?.completionTokens),
    native_tokens_cached: orNull(settled?.cachedTokens),
    native_tokens_reasoning: orNull(timing?.reasoningTokens),
    total_cost: credits,
    usage: credits,
    provider_name: 'millrace',
    hold: { nano: generation.holdNano, clamped: generation.clamped },
    prices: {
      input_nano: generation.inputPriceNano,
      cached_input_nano: generation.cachedInputPriceNano,
      output_nano: generation.outputPriceNano,
    },
    nano: { total_cost: cost },
  }
}

export function toActivity(row: Required<ActivityMessage>): Activity {
  const nano = String(row.chargedNano)
  return {
    date: row.day,
    model: row.model,
    requests: Number(row.requests),
    prompt_tokens: Number(row.promptTokens),
    cached_tokens: Number(row.cachedTokens),
    completion_tokens: Number(row.completionTokens),
    usage: toCredits(nano),
    nano: { usage: nano },
  }
}

/** RFC 4180. A model's id that begins like a formula is kept from being one in a spreadsheet. */
export function toCsv(days: readonly Activity[]): string {
  const head = 'date,model,requests,prompt_tokens,cached_tokens,completion_tokens,usage_nano'
  const lines = days.map((day) =>
    [
      day.date,
      toCell(day.model),
      day.requests,
      day.prompt_tokens,
      day.cached_tokens,
      day.completion_tokens,
      day.nano.usage,
    ].join(','),
  )
  return [head, ...lines, ''].join('\r\n')
}

const toCell = (text: string) => `"${text.replace(/^[=+\-@]/, "'$&").replaceAll('"', '""')}"`

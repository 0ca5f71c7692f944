import { z } from 'zod'
import { pathOf } from '../admin.ts'
import { toCredits, toTime, toYesNo } from '../cells.ts'
import { defineCall } from '../command.ts'
import { argument } from '../fields.ts'
import { formatFields, formatTable } from '../table.ts'
import { ALARM_COLUMNS, Alarm } from './alarms.ts'

const Hold = z.object({
  state: z.string(),
  amountNano: z.string(),
  estimatedInputTokens: z.number(),
  exactInputTokens: z.number().nullable(),
  wantedTokens: z.number(),
  grantedTokens: z.number(),
  clamped: z.boolean(),
  createdAt: z.string(),
  deadline: z.string(),
  expiresAt: z.string(),
  closedAt: z.string().nullable(),
})

const Prices = z.object({
  version: z.string(),
  effectiveFrom: z.string(),
  inputPriceNano: z.string(),
  cachedInputPriceNano: z.string(),
  outputPriceNano: z.string(),
})

const Settlement = z.object({
  outcome: z.string(),
  promptTokens: z.number(),
  cachedTokens: z.number(),
  completionTokens: z.number(),
  costNano: z.string(),
  chargedNano: z.string(),
  writtenOffNano: z.string(),
  late: z.boolean(),
  worker: z.string(),
  epoch: z.number(),
  settledAt: z.string(),
})

const RequestRecord = z.object({
  id: z.string(),
  accountId: z.string().nullable(),
  keyId: z.string().nullable(),
  model: z.string().nullable(),
  hold: Hold.nullable(),
  prices: Prices.nullable(),
  settlement: Settlement.nullable(),
  alarms: z.array(Alarm),
})

const show = defineCall({
  name: 'requests show',
  summary: 'Shows all that billing knows of one request: what it held, used and cost, and who ran it.',
  fields: z.strictObject({ request: argument('ID', 'its x-request-id, or the id of its answer') }),
  examples: ['requests show chatcmpl-5b1f9a52-7b0e-4a4e-8f0d-2f6f3f1f6f10'],
  request: ({ request }) => ({ method: 'GET', path: pathOf`/requests/${request}` }),
  answer: RequestRecord,
  show: ({ id, accountId, keyId, model, hold, prices, settlement, alarms }) =>
    [
      formatFields([
        ['request', id],
        ['account', accountId],
        ['key', keyId],
        ['model', model],
      ]),
      `Hold\n${hold === null ? '  none\n' : showHold(hold)}`,
      ...(prices === null ? [] : [`Prices, in credits per 1,000,000 tokens\n${showPrices(prices)}`]),
      `Settlement\n${settlement === null ? '  none\n' : showSettlement(settlement)}`,
      ...(alarms.length === 0 ? [] : [`Alarms\n${formatTable(ALARM_COLUMNS, alarms)}`]),
    ].join('\n'),
})

export const REQUEST_COMMANDS = [show] as const

function showHold(hold: z.infer<typeof Hold>): string {
  return formatFields([
    ['  state', hold.state],
    ['  credits', toCredits(hold.amountNano)],
    ['  input tokens', hold.exactInputTokens ?? `${hold.estimatedInputTokens} (estimated)`],
    ['  output tokens wanted', hold.wantedTokens],
    ['  output tokens granted', hold.grantedTokens],
    ['  cut by the credits', toYesNo(hold.clamped)],
    ['  made', toTime(hold.createdAt)],
    ['  deadline', toTime(hold.deadline)],
    ['  expires', toTime(hold.expiresAt)],
    ['  closed', toTime(hold.closedAt)],
  ])
}

function showPrices(prices: z.infer<typeof Prices>): string {
  return formatFields([
    ['  version', prices.version],
    ['  from', toTime(prices.effectiveFrom)],
    ['  input', toCredits(prices.inputPriceNano)],
    ['  cached input', toCredits(prices.cachedInputPriceNano)],
    ['  output', toCredits(prices.outputPriceNano)],
  ])
}

function showSettlement(settlement: z.infer<typeof Settlement>): string {
  return formatFields([
    ['  outcome', settlement.outcome],
    ['  prompt tokens', settlement.promptTokens],
    ['  of them cached', settlement.cachedTokens],
    ['  completion tokens', settlement.completionTokens],
    ['  cost', toCredits(settlement.costNano)],
    ['  charged', toCredits(settlement.chargedNano)],
    ['  written off', toCredits(settlement.writtenOffNano)],
    ['  after its hold expired', toYesNo(settlement.late)],
    ['  worker', settlement.worker],
    ['  attempt', settlement.epoch],
    ['  settled', toTime(settlement.settledAt)],
  ])
}

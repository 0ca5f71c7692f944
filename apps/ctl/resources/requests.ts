import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { RequestHold, RequestPrices, Settlement } from '#libs/admin-contract/resources/requests.ts'
import { toCredits, toTime, toYesNo } from '../cells.ts'
import { defineCall } from '../command.ts'
import { argument } from '../fields.ts'
import { formatFields, formatTable } from '../table.ts'
import { ALARM_COLUMNS } from './alarms.ts'

const show = defineCall({
  name: 'requests show',
  operation: ADMIN.readRequest,
  fields: { request: argument('ID', 'its x-request-id, or the id of its answer') },
  examples: ['requests show chatcmpl-5b1f9a52-7b0e-4a4e-8f0d-2f6f3f1f6f10'],
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

function showHold(hold: RequestHold): string {
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

function showPrices(prices: RequestPrices): string {
  return formatFields([
    ['  version', prices.version],
    ['  from', toTime(prices.effectiveFrom)],
    ['  input', toCredits(prices.inputPriceNano)],
    ['  cached input', toCredits(prices.cachedInputPriceNano)],
    ['  output', toCredits(prices.outputPriceNano)],
  ])
}

function showSettlement(settlement: Settlement): string {
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

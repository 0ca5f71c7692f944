import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type {
  RequestHold,
  RequestPrices,
  RequestTiming,
  Settlement,
} from '#libs/admin-contract/resources/requests.ts'
import { toCredits, toTime, toYesNo } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { argument, text } from '../fields.ts'
import { formatFields, formatTable } from '../table.ts'
import { ALARM_COLUMNS } from './alarms.ts'

const list = defineList({
  name: 'requests list',
  operation: ADMIN.listRequests,
  fields: {
    account: text('ACCOUNT', 'id of the account'),
    key: text('KEY', 'id of the key'),
    model: text('MODEL', 'id of the model'),
    outcome: text('OUTCOME', 'completed, cancelled, fault or never-ran'),
    minMs: text('MS', 'only those that waited and ran for so long together'),
    from: text('TIME', 'of the settlement, such as 2030-01-01T00:00:00Z'),
    to: text('TIME', 'exclusive'),
  },
  examples: [
    'requests list --outcome fault --from 2030-01-01T00:00:00Z',
    'requests list --model demo-chat --min-ms 30000',
  ],
  columns: [
    { title: 'request', cell: ({ id }) => id },
    { title: 'settled', cell: ({ settledAt }) => toTime(settledAt) },
    { title: 'account', cell: ({ accountId }) => accountId },
    { title: 'model', cell: ({ model }) => model },
    { title: 'outcome', cell: ({ outcome }) => outcome },
    { title: 'error', cell: ({ timing }) => timing?.errorCode ?? null },
    { title: 'waited (ms)', cell: ({ timing }) => timing?.waitedMs ?? null, align: 'right' },
    { title: 'first (ms)', cell: ({ timing }) => timing?.firstTokenMs ?? null, align: 'right' },
    { title: 'ran (ms)', cell: ({ timing }) => timing?.ranMs ?? null, align: 'right' },
    { title: 'prompt', cell: ({ promptTokens }) => promptTokens, align: 'right' },
    { title: 'completion', cell: ({ completionTokens }) => completionTokens, align: 'right' },
    { title: 'charged', cell: ({ chargedNano }) => toCredits(chargedNano), align: 'right' },
  ],
})

const show = defineCall({
  name: 'requests show',
  operation: ADMIN.readRequest,
  fields: { request: argument('ID', 'its x-request-id, or the id of its answer') },
  examples: ['requests show chatcmpl-5b1f9a52-7b0e-4a4e-8f0d-2f6f3f1f6f10'],
  show: ({ id, accountId, keyId, model, hold, prices, settlement, timing, alarms }) =>
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
      ...(timing === null ? [] : [`Timing\n${showTiming(timing)}`]),
      ...(alarms.length === 0 ? [] : [`Alarms\n${formatTable(ALARM_COLUMNS, alarms)}`]),
    ].join('\n'),
})

export const REQUEST_COMMANDS = [list, show] as const

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

function showTiming(timing: RequestTiming): string {
  return formatFields([
    ['  waited (ms)', timing.waitedMs],
    ['  were ahead of it', timing.ahead],
    ['  to its first output (ms)', timing.firstTokenMs],
    ['  from there to its end (ms)', timing.ranMs],
    ['  finish reason', timing.finishReason],
    ['  error', timing.errorCode],
    ['  reasoning tokens', timing.reasoningTokens],
    ['  streamed', timing.streamed === null ? null : toYesNo(timing.streamed)],
  ])
}

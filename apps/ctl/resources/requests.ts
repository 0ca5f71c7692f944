import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { Alarm } from '#libs/admin-contract/resources/alarms.ts'
import {
  RequestHold,
  RequestPrices,
  RequestTiming,
  Settlement,
} from '#libs/admin-contract/resources/requests.ts'
import { defineCall, defineList } from '../command.ts'
import { showFields, showTable, type Shown } from '../view.ts'
import { ALARM } from './alarms.ts'

const list = defineList({
  name: 'requests list',
  operation: ADMIN.listRequests,
  examples: [
    'requests list --outcome fault --from 2030-01-01T00:00:00Z',
    'requests list --model demo-chat --min-ms 30000',
  ],
  shown: [
    ['id', 'request'],
    'settledAt',
    'accountId',
    'model',
    'outcome',
    { title: 'error', cell: ({ timing }) => timing?.errorCode ?? null },
    { title: 'waited (ms)', cell: ({ timing }) => timing?.waitedMs ?? null, align: 'right' },
    { title: 'first (ms)', cell: ({ timing }) => timing?.firstTokenMs ?? null, align: 'right' },
    { title: 'ran (ms)', cell: ({ timing }) => timing?.ranMs ?? null, align: 'right' },
    'promptTokens',
    'completionTokens',
    'chargedNano',
  ],
})

const HOLD: readonly Shown<RequestHold>[] = [
  'state',
  ['amountNano', 'credits'],
  {
    title: 'input tokens',
    cell: (hold) => hold.exactInputTokens ?? `${hold.estimatedInputTokens} (estimated)`,
  },
  ['wantedTokens', 'output tokens wanted'],
  ['grantedTokens', 'output tokens granted'],
  ['clamped', 'cut by the credits'],
  ['createdAt', 'made'],
  'deadline',
  'expiresAt',
  'closedAt',
]

const PRICES: readonly Shown<RequestPrices>[] = [
  'version',
  ['effectiveFrom', 'from'],
  ['inputPriceNano', 'input'],
  ['cachedInputPriceNano', 'cached input'],
  ['outputPriceNano', 'output'],
]

const SETTLEMENT: readonly Shown<Settlement>[] = [
  'outcome',
  ['promptTokens', 'prompt tokens'],
  ['cachedTokens', 'of them cached'],
  ['completionTokens', 'completion tokens'],
  'costNano',
  'chargedNano',
  'writtenOffNano',
  ['late', 'after its hold expired'],
  'worker',
  ['epoch', 'attempt'],
  'settledAt',
]

const TIMING: readonly Shown<RequestTiming>[] = [
  'waitedMs',
  ['ahead', 'were ahead of it'],
  ['firstTokenMs', 'to its first output (ms)'],
  ['ranMs', 'from there to its end (ms)'],
  'finishReason',
  ['errorCode', 'error'],
  ['reasoningTokens', 'reasoning tokens'],
  'streamed',
]

const show = defineCall({
  name: 'requests show',
  operation: ADMIN.readRequest,
  examples: ['requests show chatcmpl-5b1f9a52-7b0e-4a4e-8f0d-2f6f3f1f6f10'],
  show: (request) => {
    const { hold, prices, settlement, timing, alarms } = request
    return [
      showFields(ADMIN.readRequest.answer, [['id', 'request'], 'accountId', 'keyId', 'model'], request),
      `Hold\n${hold === null ? '  none\n' : indent(showFields(RequestHold, HOLD, hold))}`,
      ...(prices === null
        ? []
        : [`Prices, in credits per 1,000,000 tokens\n${indent(showFields(RequestPrices, PRICES, prices))}`]),
      `Settlement\n${settlement === null ? '  none\n' : indent(showFields(Settlement, SETTLEMENT, settlement))}`,
      ...(timing === null ? [] : [`Timing\n${indent(showFields(RequestTiming, TIMING, timing))}`]),
      ...(alarms.length === 0 ? [] : [`Alarms\n${showTable(Alarm, ALARM, alarms)}`]),
    ].join('\n')
  },
})

export const REQUEST_COMMANDS = [list, show] as const

function indent(lines: string): string {
  return lines.replaceAll(/^(?=.)/gm, '  ')
}

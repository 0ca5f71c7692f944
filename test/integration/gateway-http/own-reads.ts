import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import type { CallerReads, Reader } from '#libs/billing-client/caller-reads.ts'
import type { Generation__Output } from '#proto/types/millrace/billing/Generation.ts'
import type { KeyState__Output } from '#proto/types/millrace/billing/KeyState.ts'

export const SETTLED_ID = '01a1ff19-4bd8-7c31-9a55-0242ac120002'
export const RUNNING_ID = '01a1ff19-4bd8-7c31-9a55-0242ac120003'
export const ARCHIVED_ID = '0181ff19-4bd8-7c31-9a55-0242ac120002'

const KEY: KeyState__Output = {
  label: 'mr_live_mcHg…cCRh',
  name: '',
  expiresAtMs: '0',
  models: null,
  requestsPerMinute: 0,
  tokensPerMinute: '0',
  limit: { amountNano: '25000000000', leftNano: '6600000001', period: 'month' },
  usage: { totalNano: '18400000000', dayNano: '1', weekNano: '4200000000', monthNano: '18400000000' },
  postedNano: '81400000000',
  heldNano: '7190000000',
  creditedNano: '100000000000',
}

const SETTLED: Generation__Output = {
  id: SETTLED_ID,
  state: 'settled',
  model: 'org/demo',
  createdAtMs: String(Date.parse('2026-11-21T17:13:12.001Z')),
  holdNano: '291800',
  clamped: false,
  inputPriceNano: '200000000',
  cachedInputPriceNano: '50000000',
  outputPriceNano: '600000000',
  settled: {
    outcome: 'completed',
    promptTokens: 259,
    cachedTokens: 0,
    completionTokens: 301,
    chargedNano: '232400',
    settledAtMs: '1',
  },
  timing: {
    waitedMs: 14_200,
    ahead: 124,
    firstTokenMs: 410,
    ranMs: 5_900,
    finishReason: 'stop',
    errorCode: '',
    reasoningTokens: 0,
    streamed: true,
  },
}

const RUNNING: Generation__Output = { ...SETTLED, id: RUNNING_ID, state: 'held', settled: null, timing: null }

const idOf = (reader: Reader) => ('keyId' in reader ? reader.keyId : reader.managementKeyId)

/** Billing, as far as a caller reads: key-1 has two requests, other keys none. */
export function createOwnReads() {
  const asked: string[] = []
  const state = { isAway: false }
  const answer = <Answer>(name: string, value: Answer): Promise<Answer> => {
    asked.push(name)
    return state.isAway ? Promise.reject(new BillingUnavailable('away')) : Promise.resolve(value)
  }
  const reads: CallerReads = {
    readKey: (reader) => answer(`key ${idOf(reader)}`, KEY),
    readGeneration(reader, id) {
      const own = ['key-1', 'manager-1'].includes(idOf(reader)) ? [SETTLED, RUNNING] : []
      const generation = own.find((each) => each.id === id) ?? null
      return answer(`generation ${id}`, { generation, archivedMonth: id === ARCHIVED_ID ? '2022-07' : '' })
    },
    listGenerations: (_reader, { limit, cursor }) =>
      answer(`list ${limit} ${cursor}`, {
        generations: [RUNNING, SETTLED],
        nextCursor: cursor === '' ? `1795281192001000-${SETTLED_ID}` : '',
      }),
    readActivity: (_reader, { from, to }) =>
      answer(`activity ${from} ${to}`, {
        days: [
          {
            day: to,
            model: '=org/"demo"',
            requests: '2',
            promptTokens: '518',
            cachedTokens: '0',
            completionTokens: '602',
            chargedNano: '464800',
          },
        ],
        archivedMonth: from < '2023' ? '2022-12' : '',
      }),
  }
  return { reads, asked, state }
}

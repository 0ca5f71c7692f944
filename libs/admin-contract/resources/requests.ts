import { z } from 'zod'
import { AccountId, Id, KeyId, ModelId, Nano, Time, TimeInput, countIn } from '../fields.ts'
import { defineRead } from '../operation.ts'
import { PAGE, pageFields } from '../list-page.ts'
import { ALL } from '../roles.ts'
import { Alarm } from './alarms.ts'

/** The request's id, or the id of its answer, which is the request's id after a prefix. */
const RequestId = z
  .string()
  .max(100)
  .transform((text) => text.replace(/^(?:chatcmpl-|cmpl-|resp_)/, ''))
  .pipe(Id)
  .meta({ description: 'Its x-request-id, or the id of its answer.' })

export const RequestHold = z.object({
  state: z.enum(['held', 'settled', 'released', 'expired']),
  amountNano: Nano,
  estimatedInputTokens: z.int(),
  exactInputTokens: z.int().nullable(),
  wantedTokens: z.int(),
  grantedTokens: z.int(),
  clamped: z.boolean().meta({ description: 'Credits alone made the grant smaller than wanted.' }),
  createdAt: Time,
  deadline: Time,
  expiresAt: Time,
  closedAt: Time.nullable(),
})
export type RequestHold = z.infer<typeof RequestHold>

export const RequestPrices = z.object({
  version: z.string(),
  effectiveFrom: Time,
  inputPriceNano: Nano,
  cachedInputPriceNano: Nano,
  outputPriceNano: Nano,
})
export type RequestPrices = z.infer<typeof RequestPrices>

const Outcome = z.enum(['completed', 'cancelled', 'fault', 'never-ran'])

export const Settlement = z.object({
  outcome: Outcome,
  promptTokens: z.int(),
  cachedTokens: z.int(),
  completionTokens: z.int(),
  costNano: Nano,
  chargedNano: Nano,
  writtenOffNano: Nano,
  late: z.boolean().meta({ description: 'Its hold had expired.' }),
  worker: z.string().meta({ description: 'Boot id of the process that settled it.' }),
  epoch: z.int().meta({ description: 'The number of the attempt.' }),
  settledAt: Time,
})
export type Settlement = z.infer<typeof Settlement>

/** The times of a request. A field is null if it is unknown or did not happen. */
export const RequestTiming = z
  .object({
    waitedMs: z.int().nullable().meta({ description: 'From the queue to its first claim by a worker.' }),
    ahead: z.int().nullable().meta({ description: 'How many were before it in the queue.' }),
    firstTokenMs: z.int().nullable().meta({ description: 'From its first claim to its first output.' }),
    ranMs: z.int().nullable().meta({ description: 'From its first output to its end.' }),
    finishReason: z.string().nullable(),
    errorCode: z.string().nullable(),
    reasoningTokens: z.int().nullable(),
    streamed: z.boolean().nullable(),
  })
  .meta({ id: 'RequestTiming' })
export type RequestTiming = z.infer<typeof RequestTiming>

const Timing = RequestTiming.nullable().meta({
  description:
    'Null where there is none: it is kept for 90 days, and requests of an older release have none.',
})

const RequestRecord = z
  .object({
    id: Id,
    accountId: Id.nullable(),
    keyId: Id.nullable(),
    model: z.string().nullable(),
    hold: RequestHold.nullable(),
    prices: RequestPrices.nullable(),
    settlement: Settlement.nullable(),
    alarms: z.array(Alarm),
    timing: Timing,
  })
  .meta({ id: 'Request' })

const SettledRequest = Settlement.extend({
  id: Id,
  accountId: Id,
  keyId: Id,
  model: z.string(),
  timing: Timing,
}).meta({ id: 'SettledRequest' })
export type SettledRequest = z.infer<typeof SettledRequest>

/** The most days that one list covers: `one` if the list is limited to an account or a key, else `all`. */
export const MAX_REQUEST_DAYS = { all: 31, one: 366 } as const

const MAX_DURATION_MS = 24 * 60 * 60 * 1000

export const REQUESTS = {
  listRequests: defineRead({
    path: '/requests',
    summary: 'Lists settled requests, the latest settlement first.',
    description: `Up to ${MAX_REQUEST_DAYS.all} days, or ${MAX_REQUEST_DAYS.one} of one account or key. One answer looks through a bounded number of requests, so a page of a rare kind may have fewer than \`limit\`, or none; \`searchedTo\` says how far it looked, and \`nextCursor\` continues from there. Open requests are holds; refused ones are not here.`,
    roles: ALL,
    query: z.strictObject({
      account: AccountId.optional(),
      key: KeyId.optional(),
      model: ModelId.optional(),
      outcome: Outcome.optional(),
      minMs: countIn({ min: 0, max: MAX_DURATION_MS }).optional().meta({
        description: 'Only those that waited and ran for so long together; none of those without a timing.',
      }),
      from: TimeInput.optional().meta({
        description:
          'Of the settlement, inclusive; as far back as is allowed, from `to` or from now, unless given.',
      }),
      to: TimeInput.optional().meta({ description: 'Exclusive; no end unless given.' }),
      ...PAGE,
    }),
    answer: z
      .object({
        ...pageFields(SettledRequest),
        searchedTo: Time.meta({ description: 'How far back this answer looked.' }),
      })
      .meta({ id: 'RequestPage' }),
    errors: ['not_found', 'archived'],
  }),

  readRequest: defineRead({
    path: '/requests/{request}',
    summary: 'Shows everything billing has on one request: its hold, prices, settlement and alarms.',
    description: 'By its x-request-id, or by the id of its answer.',
    roles: ALL,
    params: z.strictObject({ request: RequestId }),
    answer: RequestRecord,
    errors: ['not_found', 'archived'],
  }),
}

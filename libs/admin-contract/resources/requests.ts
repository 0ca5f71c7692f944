import { z } from 'zod'
import { Id, Nano, Time } from '../fields.ts'
import { defineRead } from '../operation.ts'
import { ALL } from '../roles.ts'
import { Alarm } from './alarms.ts'

/** The request's id, or the id of its answer, which is the request's id behind a prefix. */
const RequestId = z
  .string()
  .max(100)
  .transform((text) => text.replace(/^(?:chatcmpl-|cmpl-|resp_)/, ''))
  .pipe(Id)

const RequestHold = z.object({
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

const RequestPrices = z.object({
  version: z.string(),
  effectiveFrom: Time,
  inputPriceNano: Nano,
  cachedInputPriceNano: Nano,
  outputPriceNano: Nano,
})
export type RequestPrices = z.infer<typeof RequestPrices>

const Settlement = z.object({
  outcome: z.enum(['completed', 'cancelled', 'fault', 'never-ran']),
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
  })
  .meta({ id: 'Request' })

export const REQUESTS = {
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

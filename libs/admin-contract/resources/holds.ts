import { z } from 'zod'
import { AccountId, Id, ModelId, Nano, Reason, Time, countIn } from '../fields.ts'
import { defineChange, defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL, SERVICE } from '../roles.ts'

const MAX_AGE_S = 10 * 365 * 24 * 60 * 60

const Hold = z
  .object({
    id: Id,
    accountId: Id,
    keyId: Id,
    model: z.string(),
    amountNano: Nano,
    inputTokens: z.int(),
    grantedTokens: z.int(),
    createdAt: Time,
    ageSeconds: z.int(),
    deadline: Time,
    expiresAt: Time.meta({
      description: 'The hold may expire from then on, once the settlements up to then are read.',
    }),
  })
  .meta({ id: 'Hold' })

const ReleasedHold = z.object({ id: Id, freedNano: Nano, warning: z.string() }).meta({ id: 'ReleasedHold' })

export const RELEASE_WARNING =
  'If its generation still runs, its settlement will charge nothing and raise the alarm released.'

export const HOLDS = {
  listHolds: defineRead({
    path: '/holds',
    summary: 'Lists open holds, the newest first.',
    roles: ALL,
    query: z.strictObject({
      account: AccountId.optional(),
      model: ModelId.optional(),
      olderThanSeconds: countIn({ min: 0, max: MAX_AGE_S })
        .optional()
        .meta({ description: 'Only holds at least that old.' }),
      ...PAGE,
    }),
    answer: pageOf('HoldPage', Hold),
    errors: ['not_found'],
  }),

  releaseHold: defineChange({
    method: 'POST',
    path: '/holds/{hold}/release',
    summary: 'Releases an open hold by force.',
    description: RELEASE_WARNING,
    roles: SERVICE,
    params: z.strictObject({
      hold: Id.meta({ description: 'Id of the hold, which is that of its request.' }),
    }),
    body: z.strictObject({ reason: Reason }),
    answer: ReleasedHold,
    errors: ['not_found', 'conflict'],
  }),
}

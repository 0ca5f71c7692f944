import { z } from 'zod'
import { AccountId, Day, KeyId, ModelId, Nano } from '../fields.ts'
import { defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL } from '../roles.ts'

export const Dimension = z.enum(['day', 'account', 'key', 'model'])
export type Dimension = z.infer<typeof Dimension>

const By = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(Dimension).min(1))
  .meta({ description: 'Of day, account, key and model, separated by commas; all of them unless given.' })

const Usage = z
  .object({
    day: z.string().nullable(),
    accountId: z.string().nullable(),
    keyId: z.string().nullable(),
    model: z.string().nullable(),
    requests: z.int(),
    promptTokens: z.int(),
    cachedTokens: z.int(),
    completionTokens: z.int(),
    costNano: Nano,
    chargedNano: Nano,
    writtenOffNano: Nano,
  })
  .meta({ id: 'Usage', description: 'Sums over requests; a dimension that is not in `by` is null.' })
export type Usage = z.infer<typeof Usage>

export const USAGE = {
  summarizeUsage: defineRead({
    path: '/usage',
    summary: 'Sums up settled requests by day, account, key and model; `from` and `to` are inclusive.',
    roles: ALL,
    query: z.strictObject({
      from: Day.meta({ description: 'The first day, in UTC.' }),
      to: Day.meta({ description: 'The last day.' }),
      account: AccountId.optional(),
      key: KeyId.optional(),
      model: ModelId.optional(),
      by: By.optional(),
      ...PAGE,
    }),
    answer: pageOf('UsagePage', Usage),
    errors: ['not_found', 'archived'],
  }),
}

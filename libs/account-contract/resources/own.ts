import { z } from 'zod'
import { ALLOWED, Credits, EXAMPLE_KEY, Nano, SPENDING, SPENDING_NANO, Time } from '../fields.ts'
import { defineRead, FREE, READ_ERRORS } from '../operation.ts'

const OwnKey = z.object({
  data: z.object({
    label: z.string().meta({ description: 'The first and last characters of the key.' }),
    name: z.string().nullable(),
    ...SPENDING,
    expires_at: Time.nullable(),
    is_management_key: z.boolean().meta({
      description: 'Whether it is a management key: its usage is that of the account, and it spends nothing.',
    }),
    is_free_tier: z.literal(false),
    ...ALLOWED,
    available: Credits.meta({ description: 'What the account can spend now.' }),
    held: Credits.meta({ description: 'What running requests of the account hold.' }),
    spendable: Credits.meta({ description: 'What this key can spend now: the least of account and limit.' }),
    nano: z.object({ ...SPENDING_NANO, available: Nano, held: Nano, spendable: Nano }),
  }),
})
export type OwnKey = z.infer<typeof OwnKey>['data']

const OwnCredits = z.object({
  data: z.object({
    total_credits: Credits.meta({ description: 'All that was ever credited to the account.' }),
    total_usage: Credits.meta({ description: 'All that was ever charged to it.' }),
    available: Credits,
    held: Credits,
    nano: z.object({ total_credits: Nano, total_usage: Nano, available: Nano, held: Nano }),
  }),
})

const amounts = { available: 74.21, held: 7.19 }
const exact = { available: '74210000000', held: '7190000000' }

export const OWN = {
  readKey: defineRead({
    path: '/key',
    by: 'any key',
    summary: 'Describes the API key of the request.',
    description: `Its limits, what it has used, and what it can spend now. ${FREE}`,
    answer: OwnKey,
    answered: {
      name: 'ApiKey',
      examples: {
        key: {
          data: {
            ...EXAMPLE_KEY.naming,
            ...EXAMPLE_KEY.spending,
            is_management_key: false,
            is_free_tier: false,
            ...EXAMPLE_KEY.allowed,
            ...amounts,
            spendable: 6.6,
            nano: { ...EXAMPLE_KEY.nano, ...exact, spendable: '6600000000' },
          },
        },
      },
    },
    errors: READ_ERRORS,
  }),

  readCredits: defineRead({
    path: '/credits',
    by: 'any key',
    summary: 'Returns the credits of the account.',
    description: `What was ever credited and charged, and what is available now. ${FREE}`,
    answer: OwnCredits,
    answered: {
      name: 'Credits',
      examples: {
        credits: {
          data: {
            total_credits: 100,
            total_usage: 18.6,
            ...amounts,
            nano: { total_credits: '100000000000', total_usage: '18600000000', ...exact },
          },
        },
      },
    },
    errors: READ_ERRORS,
  }),
}

import { parseCredits } from '#libs/money/nano-credits.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { Key } from '#libs/admin-contract/resources/keys.ts'
import { toCredits, toTime } from '../cells.ts'
import { defineCall, defineList } from '../command.ts'
import { orNone, readText } from '../fields.ts'
import { showFields, showSecret, type Shown } from '../view.ts'

const SPEND_LIMIT = {
  spendLimit: readText(
    { value: 'CREDITS/PERIOD', help: 'such as 25/month; the period is day, week, month (in UTC) or total' },
    orNone(toSpendLimit),
  ),
}

/** The first and last characters of a secret, enough to recognize it. */
const HINT = { title: 'secret', cell: ({ prefix, last4 }: Key) => `${prefix}…${last4}` }

const LIMIT = {
  title: 'spend limit',
  cell: ({ spendLimit: limit }: Key) => limit && `${toCredits(limit.amountNano)}/${limit.period}`,
  align: 'right',
} as const

const LEFT = {
  title: 'left',
  cell: ({ spending }: Key) => toCredits(spending?.leftNano ?? null),
  align: 'right',
} as const

const list = defineList({
  name: 'keys list',
  operation: ADMIN.listKeys,
  examples: ['keys list --account 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11', 'keys list --last4 x7Qz'],
  shown: [
    ['id', 'key'],
    'name',
    HINT,
    'status',
    LIMIT,
    LEFT,
    ['requestsPerMinute', 'requests/min'],
    ['tokensPerMinute', 'tokens/min'],
    { title: 'models', cell: ({ models }) => models?.join(', ') ?? null },
    'expiresAt',
    'lastUsedAt',
  ],
})

const create = defineCall({
  name: 'keys create',
  operation: ADMIN.createKey,
  fields: SPEND_LIMIT,
  examples: [
    'keys create 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --name production',
    'keys create 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 --spend-limit 25/month --models demo-chat,demo-embed',
  ],
  show: showNewKey,
})

const KEY: readonly Shown<Key>[] = [
  ['id', 'key'],
  'accountId',
  'name',
  HINT,
  'status',
  { title: 'models', cell: ({ models }) => models?.join(', ') ?? 'all' },
  LIMIT,
  { title: 'spent', cell: ({ spending }) => toCredits(spending?.spentNano ?? null) },
  { title: 'held', cell: ({ spending }) => toCredits(spending?.heldNano ?? null) },
  LEFT,
  { title: 'period began', cell: ({ spending }) => toTime(spending?.periodStart ?? null) },
  ['requestsPerMinute', 'requests a minute'],
  ['tokensPerMinute', 'tokens a minute'],
  'expiresAt',
  'lastUsedAt',
  { title: 'set by operators', cell: ({ setByOperator }) => setByOperator.join(', ') || null },
  'rotatedFrom',
  'createdAt',
  'revokedAt',
]

const show = defineCall({
  name: 'keys show',
  operation: ADMIN.readKey,
  examples: ['keys show 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77'],
  show: KEY,
})

const change = defineCall({
  name: 'keys change',
  operation: ADMIN.changeKey,
  summary: 'Changes the name, the expiry and the limits of a key; none removes a limit.',
  fields: SPEND_LIMIT,
  examples: ['keys change 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --spend-limit 50/month --expires-at none'],
  show: KEY,
})

const rotate = defineCall({
  name: 'keys rotate',
  operation: ADMIN.rotateKey,
  summary: 'Creates a successor and shows its secret, once; the old secret stays valid for a while.',
  examples: ['keys rotate 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --overlap-seconds 86400'],
  show: showNewKey,
})

const disable = defineKeyState('disable', ADMIN.disableKey)
const enable = defineKeyState('enable', ADMIN.enableKey)
const revoke = defineKeyState('revoke', ADMIN.revokeKey)

export const KEY_COMMANDS = [list, create, show, change, rotate, disable, enable, revoke] as const

function defineKeyState(
  verb: string,
  operation: typeof ADMIN.disableKey | typeof ADMIN.enableKey | typeof ADMIN.revokeKey,
) {
  return defineCall({
    name: `keys ${verb}`,
    operation,
    examples: [`keys ${verb} 8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77 --reason "ticket 4711"`],
    show: KEY,
  })
}

function toSpendLimit(given: string): { amountNano: string; period: string } {
  const [credits = '', period] = given.split('/')
  if (period === undefined)
    throw new RangeError(`${JSON.stringify(given)} has no period: expected an amount such as 25/month`)
  return { amountNano: parseCredits(credits).toString(), period }
}

function showNewKey({ secret, ...key }: Key & { readonly secret: string }): string {
  return showSecret(showFields(Key, KEY, key), 'secret', secret)
}

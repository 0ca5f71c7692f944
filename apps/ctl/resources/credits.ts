import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { pathOf } from '../admin.ts'
import { toCredits, toYesNo } from '../cells.ts'
import { defineCall, type Context } from '../command.ts'
import { REQUIRED_REASON, argument, text } from '../fields.ts'
import { formatFields } from '../table.ts'
import { ACCOUNT, Account } from './accounts.ts'

const Movement = z.object({
  id: z.string(),
  amountNano: z.string(),
  postedNano: z.string(),
  replayed: z.boolean(),
})

const MOVEMENT = {
  reason: REQUIRED_REASON,
  idempotencyKey: text('KEY', 'the same key moves credits once; made and told unless given'),
}

const topUp = defineCall({
  name: 'credits topup',
  summary: 'Gives an account credits that were paid for.',
  fields: z.strictObject({
    account: ACCOUNT,
    credits: argument('CREDITS', 'such as 25 or 0.5'),
    ...MOVEMENT,
  }),
  examples: [
    'credits topup 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 25 --reason "invoice 17" --idempotency-key invoice-17',
  ],
  request: ({ account, ...body }, context) => ({
    method: 'POST',
    path: pathOf`/accounts/${account}/topups`,
    body: { ...body, idempotencyKey: toIdempotencyKey(body, context) },
  }),
  answer: Movement,
  show: showMovement,
})

const adjust = defineCall({
  name: 'credits adjust',
  summary: 'Corrects a balance: gives credits, or with -CREDITS takes what is available.',
  fields: z.strictObject({
    account: ACCOUNT,
    credits: argument('CREDITS', 'such as 2, or -2 to take them'),
    ...MOVEMENT,
  }),
  examples: ['credits adjust 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 -2.5 --reason "paid twice"'],
  request: ({ account, ...body }, context) => ({
    method: 'POST',
    path: pathOf`/accounts/${account}/adjustments`,
    body: { ...body, idempotencyKey: toIdempotencyKey(body, context) },
  }),
  answer: Movement,
  show: showMovement,
})

const show = defineCall({
  name: 'credits show',
  summary: 'Shows the credits of an account: what is there, and what running requests hold of it.',
  fields: z.strictObject({ account: ACCOUNT }),
  examples: ['credits show 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11'],
  request: ({ account }) => ({ method: 'GET', path: pathOf`/accounts/${account}` }),
  answer: Account,
  show: ({ postedNano, heldNano, availableNano }) =>
    formatFields([
      ['posted', toCredits(postedNano)],
      ['held', toCredits(heldNano)],
      ['available', toCredits(availableNano)],
    ]),
})

export const CREDIT_COMMANDS = [topUp, adjust, show] as const

/** Told before anything is asked: whoever gets no answer repeats the command with this key, and nothing moves twice. */
function toIdempotencyKey(given: { idempotencyKey?: string | undefined }, { tell }: Context): string {
  if (given.idempotencyKey !== undefined) return given.idempotencyKey
  const key = randomUUID()
  tell(`--idempotency-key ${key}`)
  return key
}

function showMovement({ id, amountNano, postedNano, replayed }: z.infer<typeof Movement>): string {
  return formatFields([
    ['movement', id],
    ['credits', toCredits(amountNano)],
    ['posted', toCredits(postedNano)],
    ['done before', toYesNo(replayed)],
  ])
}

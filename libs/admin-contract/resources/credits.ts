import { z } from 'zod'
import { Id, Nano, POSITIVE_AMOUNT, Reason, SIGNED_AMOUNT, Text } from '../fields.ts'
import { defineChange } from '../operation.ts'
import { CUSTOMERS } from '../roles.ts'
import { AccountPath } from './accounts.ts'

const IdempotencyKey = Text.min(1).max(200).meta({
  description: 'Requests with the same key move credits once.',
})

const CreditMovement = z
  .object({
    id: Id,
    amountNano: Nano,
    postedNano: Nano.meta({ description: 'The current balance of the account.' }),
    replayed: z
      .boolean()
      .meta({ description: 'The movement had been made before; this request moved nothing.' }),
  })
  .meta({ id: 'CreditMovement' })
export type CreditMovement = z.infer<typeof CreditMovement>

export const CREDITS = {
  topUp: defineChange({
    method: 'POST',
    path: '/accounts/{account}/topups',
    status: 201,
    summary: 'Gives an account credits that were paid for.',
    roles: CUSTOMERS,
    params: AccountPath,
    body: movementOf(POSITIVE_AMOUNT),
    answer: CreditMovement,
    errors: ['not_found', 'conflict'],
  }),

  adjust: defineChange({
    method: 'POST',
    path: '/accounts/{account}/adjustments',
    status: 201,
    summary: 'Corrects a balance: gives credits, or takes available ones.',
    roles: CUSTOMERS,
    params: AccountPath,
    body: movementOf(SIGNED_AMOUNT),
    answer: CreditMovement,
    errors: ['not_found', 'conflict', 'insufficient_credits'],
  }),
}

function movementOf(amount: typeof POSITIVE_AMOUNT) {
  return z
    .strictObject({ ...amount, idempotencyKey: IdempotencyKey, reason: Reason })
    .transform(({ credits, amountNano, ...movement }, context) => {
      const amount = credits ?? amountNano
      if (amount !== undefined && (credits === undefined || amountNano === undefined)) {
        return { ...movement, amountNano: amount }
      }
      context.addIssue({ code: 'custom', path: ['credits'], message: 'give either credits or amountNano' })
      return z.NEVER
    })
}

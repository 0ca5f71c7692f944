import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { InputOf } from '#libs/admin-contract/operation.ts'
import { defineCall, defineCommand, toOutcome } from '../command.ts'
import { REQUIRED_REASON, argument, text } from '../fields.ts'

const topUp = defineMovement({
  name: 'credits topup',
  operation: ADMIN.topUp,
  help: 'such as 25 or 0.5',
  examples: [
    'credits topup 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 25 --reason "invoice 17" --idempotency-key invoice-17',
  ],
})

const adjust = defineMovement({
  name: 'credits adjust',
  operation: ADMIN.adjust,
  help: 'such as 2, or -2 to take them',
  examples: ['credits adjust 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11 -2.5 --reason "paid twice"'],
})

const show = defineCall({
  name: 'credits show',
  operation: ADMIN.readAccount,
  summary: 'Shows the credits of an account: the balance, the held part and the available part.',
  examples: ['credits show 3f0c1f0e-5a7e-4b7c-9a53-0d5f4c1f7a11'],
  show: ['postedNano', 'heldNano', 'availableNano'],
})

export const CREDIT_COMMANDS = [topUp, adjust, show] as const

function defineMovement({
  operation,
  help,
  ...rest
}: {
  readonly name: string
  readonly operation: typeof ADMIN.topUp | typeof ADMIN.adjust
  readonly help: string
  readonly examples: readonly string[]
}) {
  return defineCommand({
    ...rest,
    summary: operation.summary,
    fields: z.strictObject({
      account: argument('ACCOUNT', 'id of the account'),
      credits: argument('CREDITS', help),
      reason: REQUIRED_REASON,
      idempotencyKey: text('KEY', 'the same key moves credits once; generated and printed unless given'),
    }),
    async run({ idempotencyKey: givenKey, ...given }, { admin, note }) {
      const idempotencyKey = givenKey ?? randomUUID()
      // The key is printed before the call, so that after a lost answer the command can be repeated with the same key.
      if (givenKey === undefined) note(`--idempotency-key ${idempotencyKey}`)
      const input: InputOf<typeof operation> = { ...given, idempotencyKey }
      return toOutcome(operation, await admin.ask(operation, input), {
        show: [['id', 'movement'], ['amountNano', 'credits'], 'postedNano', ['replayed', 'done before']],
      })
    },
  })
}

import { z } from 'zod'
import { ACCOUNT, type AccountOperationId } from '#libs/account-contract/account-contract.ts'
import { generationNotFound } from '#libs/account-contract/resources/generations.ts'
import type { Asker, AskAccount } from '#libs/billing-client/ask-account.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'

export const SETTLED_ID = '01a1ff19-4bd8-7c31-9a55-0242ac120002'
export const RUNNING_ID = '01a1ff19-4bd8-7c31-9a55-0242ac120003'
export const ARCHIVED_ID = '0181ff19-4bd8-7c31-9a55-0242ac120002'
export const OWN_KEY_ID = '8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77'

const { key: own } = ACCOUNT.readKey.answered.examples
const { credits } = ACCOUNT.readCredits.answered.examples
const { settled } = ACCOUNT.readGeneration.answered.examples
const { day } = ACCOUNT.readActivity.answered.examples
const { key } = ACCOUNT.readAccountKey.answered.examples
const { made } = ACCOUNT.createKey.answered.examples
const { revoked } = ACCOUNT.revokeKey.answered.examples

const RUNNING = {
  ...settled.data,
  id: RUNNING_ID,
  status: 'running',
  outcome: null,
  cancelled: null,
  finish_reason: null,
  waited_ms: null,
  total_cost: null,
}

const idOf = (asker: Asker) => ('keyId' in asker ? asker.keyId : asker.managementKeyId)
const refuse = (code: ApiErrorCode, message: string, param?: string) =>
  new ApiError(code, message, param === undefined ? {} : { param })

/** A request as the gateway forwards it, after the contract has parsed it. */
const Sent = z.object({
  params: z.object({ id: z.string().default('') }),
  query: z.object({
    id: z.string().default(''),
    limit: z.number().default(0),
    cursor: z.string().default(''),
    from: z.string().default(''),
    to: z.string().default(''),
  }),
  headers: z.record(z.string(), z.string()),
  body: z.record(z.string(), z.unknown()),
})
type Sent = z.infer<typeof Sent>

/**
 * Creates a fake of billing's operations for callers. Its answers are the examples of the contract. key-1 has two
 * requests, other keys have none. The account has one key; it was created with `idempotency-key: used`.
 */
export function createOwnAccount() {
  const asked: string[] = []
  const state = { isAway: false }

  function answer(
    operation: AccountOperationId,
    asker: Asker,
    { params, query, headers, body }: Sent,
  ): object {
    if (params.id !== '' && params.id !== OWN_KEY_ID)
      throw refuse('key_not_found', `There is no key ${params.id}.`)
    if (headers['idempotency-key'] === 'used' || body['name'] === 'conflict') {
      throw refuse('key_conflict', 'It was used.')
    }
    switch (operation) {
      case 'readKey':
        return own
      case 'readCredits':
        return credits
      case 'readGeneration': {
        if (query.id === ARCHIVED_ID) throw generationNotFound('Requests of 2022-07 are archived.')
        const mine = ['key-1', 'manager-1'].includes(idOf(asker)) ? [settled.data, RUNNING] : []
        const found = mine.find(({ id }) => id === query.id)
        if (found === undefined) throw generationNotFound()
        return { data: found }
      }
      case 'listGenerations': {
        const next = query.cursor === '' ? `1795281192001000-${SETTLED_ID}` : null
        return { data: [RUNNING, settled.data], next_cursor: next }
      }
      case 'readActivity':
        if (query.from !== '' && query.from < '2023')
          throw refuse('invalid_request', 'Usage up to 2022-12 is archived.', 'from')
        return { data: day.data.map((row) => ({ ...row, model: '=org/"demo"' })) }
      case 'listKeys':
        return { data: [key.data], next_cursor: null }
      case 'createKey':
      case 'rotateKey':
        return made
      case 'readAccountKey':
      case 'changeKey':
        return key
      case 'revokeKey':
        return revoked
    }
  }

  const askAccount: AskAccount = async (operation, asker, given) => {
    const sent = Sent.parse(given)
    const { id, limit, cursor, from, to } = sent.query
    const values = [limit === 0 ? '' : String(limit), id, cursor, from, to].filter((value) => value !== '')
    asked.push([operation, idOf(asker), ...values].join(' '))
    if (state.isAway) throw new BillingUnavailable('away')
    try {
      return { json: JSON.stringify(answer(operation, asker, sent)) }
    } catch (error) {
      if (error instanceof ApiError) return { refusal: error }
      throw error
    }
  }
  return { askAccount, asked, state }
}

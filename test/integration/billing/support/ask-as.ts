import { expect } from 'vitest'
import type { z } from 'zod'
import { ACCOUNT, type AccountOperationId } from '#libs/account-contract/account-contract.ts'
import type { AskAccount, Asker } from '#libs/billing-client/ask-account.ts'

type Given = { params?: object; query?: object; headers?: object; body?: object }

type AnswerTo<Id extends AccountOperationId> = z.output<(typeof ACCOUNT)[Id]['answer']>

/** Asks one operation and resolves with the answer as the contract describes it. Throws the ApiError of a refusal. */
export function askAs({ askAccount }: { askAccount: AskAccount }, asker: Asker) {
  async function ask<Id extends AccountOperationId>(operation: Id, given?: Given): Promise<AnswerTo<Id>>
  async function ask(operation: AccountOperationId, given: Given = {}): Promise<unknown> {
    const answer = await askAccount(operation, asker, {
      params: {},
      query: {},
      headers: {},
      body: {},
      ...given,
    })
    if ('refusal' in answer) throw answer.refusal
    return ACCOUNT[operation].answer.parse(JSON.parse(answer.json))
  }
  return ask
}

/** Returns the ApiError that a refusal throws, with any message. */
export const refused = (code: string, param?: string) => ({ code, param, message: expect.any(String) })

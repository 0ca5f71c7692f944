import { ACCOUNT, ACCOUNT_ROOT } from '#libs/account-contract/account-contract.ts'
import type { AccountOperation } from '#libs/account-contract/operation.ts'
import { describeParameters } from '#libs/http-contract/describe-parameters.ts'
import type { OperationDescription } from '../operation-description.ts'

const METHODS = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const

/** The descriptions of the operations in the accounts' contract. */
export const accountDescriptions: readonly OperationDescription[] = Object.entries<AccountOperation>(
  ACCOUNT,
).map(([id, operation]) => ({
  id,
  method: METHODS[operation.method],
  path: ACCOUNT_ROOT + operation.path,
  summary: operation.summary,
  description: operation.description,
  parameters: [
    ...describeParameters('path', operation.params),
    ...describeParameters('query', operation.query),
    ...describeParameters('header', operation.headers),
  ],
  request: operation.sent === undefined ? null : { ...operation.sent, schema: operation.body },
  answer: {
    ...operation.answered,
    schema: operation.answer,
    ...(operation.kind === 'change' && operation.status === 201 && { status: operation.status }),
  },
  stream: null,
  errors: operation.errors,
}))

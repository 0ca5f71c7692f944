import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { ACCOUNT, ACCOUNT_ROOT, type AccountOperationId } from '#libs/account-contract/account-contract.ts'
import type { AccountOperation } from '#libs/account-contract/operation.ts'
import type { AccountAnswer, Asker, AskAccount } from '#libs/billing-client/ask-account.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Asked } from '#libs/http-contract/parse-asked.ts'
import { toRoute } from '#libs/http-contract/path.ts'
import type { Caller, Manager } from '../../callers/caller.ts'
import { RETRY_AFTER_S } from '../../retry-after.ts'
import { readAsked } from './read-asked.ts'
import { createShareRead, createSpendRead } from './share-reads.ts'
import { toCsv } from './to-csv.ts'

/** A body has a few names and numbers, and up to 100 ids of models. */
const KEY_BODY_BYTES = 64 * 1024

/**
 * Serves the operations that `#libs/account-contract` declares. A key reads its own data. A management key also reads
 * and changes the keys of its account. A request that violates the contract is refused here. All other requests are
 * answered by billing. The operations cost nothing and need no credits.
 */
export function forwardAccount(
  app: FastifyInstance,
  deps: {
    askAccount: AskAccount
    asReader: onRequestAsyncHookHandler
    asManager: onRequestAsyncHookHandler
    readerOf: (request: FastifyRequest) => Caller | Manager
    bodyBytes: number
    nowMs: () => number
  },
): void {
  const { asReader, asManager, readerOf, bodyBytes, nowMs } = deps
  const spend = createSpendRead(nowMs)

  async function ask(operation: AccountOperationId, asker: Asker, asked: Asked): Promise<AccountAnswer> {
    try {
      return await deps.askAccount(operation, asker, asked)
    } catch (error) {
      if (!(error instanceof BillingUnavailable)) throw error
      throw new ApiError('model_unavailable', NOT_ANSWERED[ACCOUNT[operation].by], {
        retryAfterS: RETRY_AFTER_S.dependencyDown,
        cause: error,
      })
    }
  }
  const share = createShareRead({ ask, spend, nowMs })

  function serve(id: AccountOperationId, operation: AccountOperation): void {
    const isManaging = operation.by === 'management key'
    app.route({
      method: operation.method,
      url: ACCOUNT_ROOT + toRoute(operation.path),
      onRequest: isManaging ? asManager : asReader,
      ...(isManaging && { bodyLimit: Math.min(KEY_BODY_BYTES, bodyBytes) }),
      config: { errors: operation.errors },
      async handler(request, reply) {
        const asked = readAsked(operation, request)
        const reader = readerOf(request)
        const [account, asker] = [reader.accountId, toAsker(reader)]
        // Every call of a management operation counts as a request, and its answer is not reused: the call makes a
        // change, or its answer must show all earlier changes.
        if (isManaging) spend(account, asker)
        const answer = isManaging ? await ask(id, asker, asked) : await share(account, id, asker, asked)
        if ('refusal' in answer) throw answer.refusal
        return send(reply, operation, answer.json)
      },
    })
  }
  for (const [id, operation] of Object.entries<AccountOperation>(ACCOUNT)) {
    if (isOperation(id)) serve(id, operation)
  }
}

const isOperation = (id: string): id is AccountOperationId => Object.hasOwn(ACCOUNT, id)

const NOT_ANSWERED = {
  'any key': 'Accounts cannot be read at the moment.',
  'management key':
    'Keys cannot be managed at the moment. It is not known whether a change was made: repeat it with the same idempotency-key.',
} as const

function toAsker(reader: Caller | Manager): Asker {
  return 'keyId' in reader ? { keyId: reader.keyId } : { managementKeyId: reader.managementKeyId }
}

function send(reply: FastifyReply, operation: AccountOperation, json: string): FastifyReply {
  if (operation === ACCOUNT.readActivity && wantsCsv(reply.request)) {
    const { data } = ACCOUNT.readActivity.answer.parse(JSON.parse(json))
    return reply.type('text/csv; charset=utf-8').send(toCsv(data))
  }
  if (operation.kind === 'change' && operation.status === 201) {
    // The answer has the secret of a new key, which no cache may keep.
    reply.code(201).header('cache-control', 'no-store')
  }
  return reply.type('application/json; charset=utf-8').send(json)
}

const wantsCsv = ({ headers }: FastifyRequest) => /(^|[\s,])text\/csv\b/i.test(headers.accept ?? '')

import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { CountTokens } from '../generation/count-tokens.ts'
import { createSenderRate } from '../http/sender-rate.ts'
import type { Prepare, PrepareRequest } from './prepare-request.ts'

/** An operation that answers with the number of tokens of a prompt. */
export type CountEndpoint = {
  readonly prepare: Prepare<{ readonly model: ModelSpec; readonly request: ChatRequest }>
  /** Returns the body of the answer. */
  render(tokens: number): object
}

/** Returns the route of an operation that counts the tokens of a prompt. It costs nothing. */
export function serveCount(
  endpoint: CountEndpoint,
  deps: {
    countTokens: CountTokens
    prepareRequest: PrepareRequest
    accountOf: (request: FastifyRequest) => string
  },
): RouteHandlerMethod {
  const { countTokens, prepareRequest, accountOf } = deps
  return async (request) => {
    const { model, request: chat, size } = await prepareRequest(endpoint.prepare, request)
    return endpoint.render(await countTokens(model, chat, { account: accountOf(request), bytes: size.bytes }))
  }
}

/** How many prompts of an account may be counted per second, after a burst of ten seconds. */
const COUNTS_PER_S = 20

/** Returns a hook that throws an `ApiError` `model_busy` if too many prompts of the account were counted. */
export function createCountRate({
  accountOf,
  nowMs,
}: {
  accountOf: (request: FastifyRequest) => string
  nowMs: () => number
}): (request: FastifyRequest) => Promise<void> {
  const tooMany = 'Too many prompts of this account were counted; try again.'
  const rate = createSenderRate({ perS: COUNTS_PER_S, tooMany, nowMs })
  return async (request) => {
    const sender = { account: accountOf(request), address: request.ip }
    rate.check(sender)
    rate.note(sender)
  }
}

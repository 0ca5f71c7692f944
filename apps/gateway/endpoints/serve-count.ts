import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Caller } from '../callers/caller.ts'
import type { CountTokens } from '../generation/count-tokens.ts'
import { refuseShortage } from '../generation/request/insufficient-credits.ts'
import { createSenderRate } from '../http/sender-rate.ts'
import type { Prepare, PrepareRequest } from './prepare-request.ts'
import { LONGEST_COUNTED_BYTES, refuseOversized } from './refuse-oversized.ts'

/** An operation that answers with the number of tokens of a prompt. */
export type CountEndpoint = {
  readonly prepare: Prepare<{ readonly model: ModelSpec; readonly request: ChatRequest }>
  /** Returns the body of the answer. */
  render(tokens: number): object
}

/**
 * Returns the route of an operation that counts the tokens of a prompt. It costs nothing, so nothing is counted that the
 * caller could not send as a request: the key must be able to pay, and the prompt must not be far too long.
 */
export function serveCount(
  endpoint: CountEndpoint,
  deps: {
    countTokens: CountTokens
    prepareRequest: PrepareRequest
    callerOf: (request: FastifyRequest) => Caller
    rate: CountRate
  },
): RouteHandlerMethod {
  const { countTokens, prepareRequest, callerOf, rate } = deps
  return async (request) => {
    const { model, request: chat, size } = await prepareRequest(endpoint.prepare, request)
    const caller = callerOf(request)
    refuseShortage(caller, [model])
    refuseOversized(chat, { ...size, tokenBytes: LONGEST_COUNTED_BYTES }, model)
    rate.noteBytes(request, size.bytes)
    return endpoint.render(await countTokens(model, chat, { account: caller.accountId, bytes: size.bytes }))
  }
}

/** How many prompts of an account may be counted per second, after a burst of ten seconds. */
const COUNTS_PER_S = 20

export type CountRate = {
  /** A hook that throws an `ApiError` `model_busy` if too many prompts, or too large ones, of the account were counted. */
  check(request: FastifyRequest): Promise<void>
  /** Counts the bytes of a prompt. Throws as `check` does. */
  noteBytes(request: FastifyRequest, bytes: number): void
}

/** `bytesPerS` bounds the bytes of an account's prompts, after a burst of ten seconds. A larger prompt may exceed it. */
export function createCountRate({
  bytesPerS,
  accountOf,
  nowMs,
}: {
  bytesPerS: number
  accountOf: (request: FastifyRequest) => string
  nowMs: () => number
}): CountRate {
  const tooMany = 'Too many prompts of this account were counted; try again.'
  const prompts = createSenderRate({ perS: COUNTS_PER_S, tooMany, nowMs })
  const bytes = createSenderRate({ perS: bytesPerS, tooMany, nowMs })
  const senderOf = (request: FastifyRequest) => ({ account: accountOf(request), address: request.ip })
  return {
    async check(request) {
      const sender = senderOf(request)
      bytes.check(sender)
      prompts.check(sender)
      prompts.note(sender)
    },
    noteBytes(request, amount) {
      bytes.check(senderOf(request))
      bytes.note(senderOf(request), amount)
    },
  }
}

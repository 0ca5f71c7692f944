import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { API_ERRORS, ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import { carriesBody } from './carries-body.ts'

/** Who sends a body. `address` is the client's, or that of a proxy which is not trusted. */
type Sender = { readonly account: string; readonly address: string }

/** Refusals are free for their caller; what they cost us is bounded by this. */
export type RefusalRate = {
  /** Throws an `ApiError` `model_busy` for a sender of too many bodies that were refused. */
  check(sender: Sender): void
  note(sender: Sender): void
}

/** So many seconds' refusals may come at once: a client that is being written, or a batch of one mistake. */
const BURST_S = 10

/** One machine of an account that repeats a mistake leaves the other half to its other machines. */
const SHARE_OF_ADDRESS = 1 / 2

/** Of accounts, and of pairs of account and address: a flood of addresses forgets no account. */
const MAX_COUNTED = 20_000

/**
 * Counts the refused bodies of each account, `perS` a second after a burst, and half of it for each of its addresses. The
 * counts fall with time; those that have not been asked for longest are forgotten beyond a number.
 */
export function createRefusalRate({ perS, nowMs }: { perS: number; nowMs: () => number }): RefusalRate {
  type Count = { readonly refused: number; readonly atMs: number }
  const accounts = new LRUCache<string, Count>({ max: MAX_COUNTED })
  const addresses = new LRUCache<string, Count>({ max: MAX_COUNTED })
  const countsOf = ({ account, address }: Sender) => [
    { counts: accounts, name: account, rate: perS },
    { counts: addresses, name: `${account} ${address}`, rate: perS * SHARE_OF_ADDRESS },
  ]

  function read({ counts, name, rate }: ReturnType<typeof countsOf>[number]): number {
    const { refused, atMs } = counts.get(name) ?? { refused: 0, atMs: 0 }
    return Math.max(0, refused - (rate * (nowMs() - atMs)) / 1_000)
  }

  return {
    check(sender) {
      const waits = countsOf(sender).map((count) => (read(count) + 1) / count.rate - BURST_S)
      const retryAfterS = Math.max(...waits)
      if (retryAfterS > 0) throw new ApiError('model_busy', TOO_OFTEN, { retryAfterS })
    },
    note(sender) {
      for (const count of countsOf(sender)) {
        // Requests that are answered at the same time all pass the check, so a count may exceed its burst; not by more.
        const refused = Math.min(read(count) + 1, 2 * BURST_S * count.rate)
        count.counts.set(count.name, { refused, atMs: nowMs() })
      }
    },
  }
}

const TOO_OFTEN =
  'Too many requests of this account were refused because of their bodies. Correct them; the last error says what is wrong.'

/**
 * Checks each request with a body before the body is read. The returned function notes a failure if it is the body's: one
 * that names a wrong field or an unknown model, or one about its size.
 */
export function installRefusalRate(
  app: FastifyInstance,
  options: { rate: RefusalRate; accountOf: (request: FastifyRequest) => string },
): (request: FastifyRequest, code: ApiErrorCode) => void {
  const { rate, accountOf } = options
  const toSender = (request: FastifyRequest) => ({ account: accountOf(request), address: request.ip })
  const checked = new WeakSet<FastifyRequest>()
  app.addHook('preParsing', async (request) => {
    if (!carriesBody(request)) return
    rate.check(toSender(request))
    checked.add(request)
  })
  return (request, code) => {
    if (checked.has(request) && OF_BODY.has(API_ERRORS[code].status)) rate.note(toSender(request))
  }
}

const OF_BODY: ReadonlySet<number> = new Set([400, 404, 413])

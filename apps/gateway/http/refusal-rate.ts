import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { API_ERRORS, ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import { carriesBody } from './carries-body.ts'

/** The sender of a body. `address` is the address of the client, or of a proxy that is not trusted. */
type Sender = { readonly account: string; readonly address: string }

/** Bounds the cost of refused requests, which are free for their callers. */
export type RefusalRate = {
  /** Throws an `ApiError` `model_busy` if too many bodies of this sender were refused. */
  check(sender: Sender): void
  note(sender: Sender): void
}

/**
 * The length of a burst: all refusals that `perS` allows in this many seconds may come at once. They may come from a
 * client under development, or from a batch with the same mistake in all of its requests.
 */
const BURST_S = 10

/**
 * The share of an account's rate that one address may use. With a half, a machine that repeats a mistake leaves the
 * other half to the account's other machines.
 */
const SHARE_OF_ADDRESS = 1 / 2

/**
 * The most entries of each of two lists: the accounts that are counted, and the pairs of account and address. The lists
 * are separate, so that a flood of addresses evicts no account.
 */
const MAX_COUNTED = 20_000

/**
 * Counts the refused bodies of each account. After a burst, `perS` bodies of an account may be refused per second, and
 * half as many from each of its addresses. The counts fall with time. Beyond `MAX_COUNTED`, the least recently used
 * counts are forgotten.
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
        // Requests that are answered at the same time all pass the check, so a count may exceed its burst. It is
        // bounded to twice the burst.
        const refused = Math.min(read(count) + 1, 2 * BURST_S * count.rate)
        count.counts.set(count.name, { refused, atMs: nowMs() })
      }
    },
  }
}

const TOO_OFTEN =
  'Too many requests of this account were refused because of their bodies. Correct them; the last error says what is wrong.'

/**
 * Checks each request with a body before the body is read. The returned function notes a failed request if its body
 * caused the failure: a wrong field, an unknown model, or the size.
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

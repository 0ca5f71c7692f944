import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'
import { carriesBody } from './carries-body.ts'
import { encodingOf } from './decode-body.ts'

export type BodyLimits = {
  /** The largest body. */
  readonly bodyBytes: number
  /** The bytes of all bodies that arrive or wait to be prepared. */
  readonly allBodiesBytes: number
}

/**
 * The measured memory that a request takes while it arrives, without its body. A body with fewer bytes is counted as
 * this many bytes.
 */
const LEAST_BYTES = 20 * 1024

/**
 * Bounds the memory of bodies that arrive or wait to be prepared. A body with a `content-length` is counted before it
 * is read. A chunked or compressed body is counted as it arrives, in decoded bytes. Beyond the bound a request is
 * refused with `model_unavailable`.
 *
 * The bytes that are counted for a request are its share. The share is freed at the end of the request's response,
 * unless a caller has taken the share over. For this the caller calls the returned function with the request, and gets
 * a second function. Only this second function then frees the share.
 *
 * A share is granted only if its account then takes no more bytes than remain free. So the first account gets at most
 * half of the memory, and the next account at most half of the rest. If each account had a fixed part of the memory, a
 * few accounts that upload slowly could lock out everybody else.
 */
export function installBodyBudget(
  app: FastifyInstance,
  options: { limits: BodyLimits; accountOf: (request: FastifyRequest) => string },
): (request: FastifyRequest) => () => void {
  const { limits, accountOf } = options
  // At most the size of the largest body, so that the smallest budget has room for one body.
  const leastBytes = Math.min(LEAST_BYTES, limits.bodyBytes)
  const shares = new WeakMap<FastifyRequest, { readonly account: string; bytes: number }>()
  const takenByAccount = new Map<string, number>()
  /** Requests whose shares are freed by the caller that took them over. */
  const taken = new WeakSet<FastifyRequest>()
  let takenBytes = 0

  /** Raises a request's share to `bytes`. Returns false if the budget has no room. */
  function take(request: FastifyRequest, bytes: number): boolean {
    const share = shares.get(request) ?? { account: accountOf(request), bytes: 0 }
    const more = bytes - share.bytes
    const ofAccount = (takenByAccount.get(share.account) ?? 0) + more
    if (ofAccount > limits.allBodiesBytes - takenBytes - more) return false
    share.bytes = bytes
    shares.set(request, share)
    takenByAccount.set(share.account, ofAccount)
    takenBytes += more
    return true
  }

  function release(request: FastifyRequest): void {
    const share = shares.get(request)
    if (share === undefined) return
    shares.delete(request)
    const ofAccount = (takenByAccount.get(share.account) ?? 0) - share.bytes
    if (ofAccount > 0) takenByAccount.set(share.account, ofAccount)
    else takenByAccount.delete(share.account)
    takenBytes -= share.bytes
  }

  app.addHook('preParsing', (...[request, reply, payload, done]) => {
    const isOpen = request.headers['transfer-encoding'] !== undefined || encodingOf(request) !== null
    const length = isOpen ? 0 : Number(request.headers['content-length'])
    // Fastify refuses a longer body before it reads the body.
    if (!carriesBody(request) || length > limits.bodyBytes) return done()
    if (!take(request, Math.max(length, leastBytes))) return done(tooMany())
    let arrived = 0
    const count = (chunk: Buffer) => {
      arrived += chunk.length
      const refused = arrived <= limits.bodyBytes && !take(request, Math.max(arrived, leastBytes))
      if (refused || arrived > limits.bodyBytes) payload.off('data', count)
      if (refused) payload.emit('error', tooMany())
    }
    if (isOpen) payload.on('data', count)
    // `close` is emitted only once, so `on` is enough: `once` would keep a wrapper for each open stream.
    reply.raw.on('close', () => {
      payload.off('data', count)
      if (!taken.has(request)) release(request)
    })
    done()
  })

  return (request) => {
    taken.add(request)
    return () => release(request)
  }
}

const tooMany = () =>
  new ApiError('model_unavailable', 'Too many requests are arriving; try again.', {
    retryAfterS: RETRY_AFTER_S.largeBodies,
  })

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'

export type BodyLimits = {
  /** The largest body. */
  readonly bodyBytes: number
  /** Bodies of at least this size are prepared on a thread, and count against `allBodiesBytes`. */
  readonly largeBodyBytes: number
  /** The bytes of all large bodies that arrive or wait to be prepared. */
  readonly allBodiesBytes: number
}

/** The share of one account, so that it cannot lock out others by uploading slowly. */
const SHARE_OF_ACCOUNT = 1 / 2

/**
 * Bounds the memory of bodies that arrive or wait to be prepared. A body with a `content-length` is counted before
 * it is read, a chunked one as it arrives. Beyond the bound a request is refused with `model_unavailable`. The
 * returned function frees a request's share; the end of its response frees it in any case.
 */
export function installBodyBudget(
  app: FastifyInstance,
  options: { limits: BodyLimits; accountOf: (request: FastifyRequest) => string | undefined },
): (request: FastifyRequest) => void {
  const { limits, accountOf } = options
  const taken = new WeakMap<FastifyRequest, { account: string; bytes: number }>()
  const takenByAccount = new Map<string, number>()
  let takenBytes = 0

  function take(request: FastifyRequest, bytes: number): boolean {
    const account = accountOf(request) ?? ''
    const ofAccount = (takenByAccount.get(account) ?? 0) + bytes
    const most = limits.allBodiesBytes
    if (takenBytes + bytes > most || ofAccount > most * SHARE_OF_ACCOUNT) return false
    taken.set(request, { account, bytes: (taken.get(request)?.bytes ?? 0) + bytes })
    takenByAccount.set(account, ofAccount)
    takenBytes += bytes
    return true
  }

  function release(request: FastifyRequest): void {
    const { account, bytes } = taken.get(request) ?? { account: '', bytes: 0 }
    taken.delete(request)
    const ofAccount = (takenByAccount.get(account) ?? 0) - bytes
    if (ofAccount > 0) takenByAccount.set(account, ofAccount)
    else takenByAccount.delete(account)
    takenBytes -= bytes
  }

  app.addHook('preParsing', (...[request, reply, payload, done]) => {
    const length = Number(request.headers['content-length'])
    if (length >= limits.largeBodyBytes && length <= limits.bodyBytes) {
      reply.raw.once('close', () => release(request))
      if (!take(request, length)) return done(tooMany())
    } else if (request.headers['transfer-encoding'] !== undefined) {
      let arrived = 0
      const count = (chunk: Buffer) => {
        arrived += chunk.length
        const refused = arrived <= limits.bodyBytes && !take(request, chunk.length)
        if (refused || arrived > limits.bodyBytes) payload.off('data', count)
        if (refused) payload.emit('error', tooMany())
      }
      payload.on('data', count)
      reply.raw.once('close', () => {
        payload.off('data', count)
        release(request)
      })
    }
    done()
  })
  return release
}

const tooMany = () =>
  new ApiError('model_unavailable', 'Too many large requests are arriving; try again.', {
    retryAfterS: RETRY_AFTER_S.largeBodies,
  })

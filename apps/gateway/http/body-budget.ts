import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'

export type BodyLimits = {
  readonly bodyBytes: number
  /** Bodies from this size on are prepared on a thread, and count against `allBodiesBytes`. */
  readonly largeBodyBytes: number
  /** Large bodies that arrive or wait to be prepared may have so many bytes together. */
  readonly allBodiesBytes: number
}

/** One account may take this share of them: it cannot lock out the others by uploading slowly. */
const SHARE_OF_ACCOUNT = 1 / 2

/**
 * Bounds the memory that bodies take while they arrive and wait: by their announced length before a byte of
 * them is read, else as they come. Beyond the bound a request is refused with `model_unavailable`. The returned
 * function gives back what a request takes; the end of its response does so in any case.
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
  new ApiError('model_unavailable', 'Too many large requests are arriving; try again.', { retryAfterS: 2 })

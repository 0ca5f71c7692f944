import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'

export type BodyLimits = {
  readonly bodyBytes: number
  /** Bodies from this size on are prepared on a thread, and count against `heldBodyBytes`. */
  readonly largeBodyBytes: number
  /** Large bodies that arrive or wait to be prepared may have so many bytes together. */
  readonly heldBodyBytes: number
}

/** One account may hold this share of them: it cannot lock out the others by uploading slowly. */
const SHARE_OF_ACCOUNT = 1 / 2

/**
 * Bounds the memory that bodies take while they arrive and wait: by their announced length before a byte of
 * them is read, else as they come. Beyond the bound a request is refused with `model_unavailable`. The returned
 * function gives back what a request holds; the end of its response does so in any case.
 */
export function installHeldBodies(
  app: FastifyInstance,
  options: { limits: BodyLimits; accountOf: (request: FastifyRequest) => string | undefined },
): (request: FastifyRequest) => void {
  const { limits, accountOf } = options
  const held = new WeakMap<FastifyRequest, { account: string; bytes: number }>()
  const heldByAccount = new Map<string, number>()
  let heldBytes = 0

  function hold(request: FastifyRequest, bytes: number): boolean {
    const account = accountOf(request) ?? ''
    const ofAccount = (heldByAccount.get(account) ?? 0) + bytes
    const most = limits.heldBodyBytes
    if (heldBytes + bytes > most || ofAccount > most * SHARE_OF_ACCOUNT) return false
    held.set(request, { account, bytes: (held.get(request)?.bytes ?? 0) + bytes })
    heldByAccount.set(account, ofAccount)
    heldBytes += bytes
    return true
  }

  function release(request: FastifyRequest): void {
    const { account, bytes } = held.get(request) ?? { account: '', bytes: 0 }
    held.delete(request)
    const ofAccount = (heldByAccount.get(account) ?? 0) - bytes
    if (ofAccount > 0) heldByAccount.set(account, ofAccount)
    else heldByAccount.delete(account)
    heldBytes -= bytes
  }

  app.addHook('preParsing', (...[request, reply, payload, done]) => {
    const length = Number(request.headers['content-length'])
    if (length >= limits.largeBodyBytes && length <= limits.bodyBytes) {
      reply.raw.once('close', () => release(request))
      if (!hold(request, length)) return done(tooMany())
    } else if (request.headers['transfer-encoding'] !== undefined) {
      let arrived = 0
      const count = (chunk: Buffer) => {
        arrived += chunk.length
        const refused = arrived <= limits.bodyBytes && !hold(request, chunk.length)
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

import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'
import { createFairPot, type FairPot, type PotMember } from '#libs/fair-share/fair-pot.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'
import { carriesBody } from './carries-body.ts'
import { encodingOf } from './decode-body.ts'
import { UploadStalled } from './handle-error.ts'

export type BodyLimits = {
  /** The largest body. */
  readonly bodyBytes: number
  /** A body of this size or more is large. */
  readonly largeBodyBytes: number
  /** The bytes of all bodies that arrive or wait to be prepared. */
  readonly allBodiesBytes: number
  /** An upload ends if fewer bytes per second arrive, over `STALL_S`. */
  readonly uploadBytesPerS: number
}

/**
 * Takes over the share of a request's body, which must be released. Throws an `ApiError` if the body has already had to
 * give up its memory. If this happens later, the signal that `toSignal` returns aborts with the error.
 */
export type TakeBody = (request: FastifyRequest) => { toSignal: () => AbortSignal; release: () => void }

/**
 * The measured memory that a request takes while it arrives, without its body. A body with fewer bytes is counted as
 * this many bytes.
 */
const LEAST_BYTES = 20 * 1024
/** The bytes of a body that may be read from its connection at once, so that they are counted before they arrive. */
const WINDOW_BYTES = 64 * 1024
const STALL_S = 10

/** The body of one request, while it arrives or waits to be prepared. */
type Upload = PotMember & {
  readonly request: FastifyRequest
  leaving: AbortController | null
  isEvicted: boolean
  pot: FairPot<Upload>
  /** The last check for a stall: its time, and the bytes that the connection had received. */
  checked: { readonly atMs: number; readonly bytes: number }
}

/**
 * Bounds the memory of bodies that arrive or wait to be prepared. Half of the memory is for small bodies, half for large
 * ones, so large bodies never take the memory of small ones. Counted is what has arrived, and one window more. A body
 * of unknown length is small until it has become large; a compressed body counts with the bytes that have arrived and
 * the bytes that they decode to.
 *
 * When a half is full, it does not refuse the next body: the owner that takes the most memory loses its slowest upload,
 * which is refused with `model_unavailable` (`FairPot`). So slow uploads, of however many accounts, shut out no other
 * account. An upload that does not move is ended, as one that is late.
 */
export function installBodyBudget(
  app: FastifyInstance,
  options: {
    limits: BodyLimits
    /** Returns the account. All callers who cannot pay for anything may be one owner. */
    ownerOf: (request: FastifyRequest) => string
    nowMs: () => number
    everySecond: (run: () => void) => () => void
  },
): TakeBody {
  const { limits, ownerOf, nowMs } = options
  // At most the size of the largest body, so that the smallest budget has room for one body.
  const leastBytes = Math.min(LEAST_BYTES, limits.bodyBytes)
  const openPot = () => createFairPot<Upload>(limits.allBodiesBytes / 2)
  const [small, large] = [openPot(), openPot()]
  const uploads = new WeakMap<FastifyRequest, Upload>()

  app.addHook('preParsing', (...[request, reply, payload, done]) => {
    const isOpen = request.headers['transfer-encoding'] !== undefined || encodingOf(request) !== null
    const length = isOpen ? limits.bodyBytes : Number(request.headers['content-length'])
    // Fastify refuses a longer body before it reads the body.
    if (!carriesBody(request) || length > limits.bodyBytes) return done()
    // A decoded payload always has a listener for errors. Fastify adds another one while it reads the payload.
    const listeners = payload.listenerCount('error')
    const { raw } = request
    const started = { atMs: nowMs(), bytes: raw.socket.bytesRead }
    const upload: Upload = {
      owner: ownerOf(request),
      request,
      leaving: null,
      isEvicted: false,
      pot: isOpen || length < limits.largeBodyBytes ? small : large,
      checked: started,
      // A body that has arrived is the last that has to leave. A new upload is not slower than the others.
      speed: () =>
        raw.complete
          ? Infinity
          : (raw.socket.bytesRead - started.bytes + WINDOW_BYTES) / (nowMs() - started.atMs + 1_000),
      evict() {
        upload.isEvicted = true
        upload.leaving?.abort(tooMany())
        if (payload.listenerCount('error') > listeners) payload.emit('error', tooMany())
      },
    }
    const take = (arrived: number) =>
      upload.pot.take(upload, Math.max(leastBytes, Math.min(length, arrived + WINDOW_BYTES)))
    if (!take(0)) return done(tooMany())
    uploads.set(request, upload)
    let arrived = 0
    const count = (chunk: Buffer) => {
      arrived += chunk.length
      if (upload.isEvicted) return
      if (upload.pot === small && arrived >= limits.largeBodyBytes) {
        small.leave(upload)
        upload.pot = large
      }
      if (!take(arrived)) upload.evict()
    }
    if (upload.pot === large || isOpen) for (const part of new Set([raw, payload])) part.on('data', count)
    leaveAtClose(request, reply.raw)
    done()
  })

  /**
   * A function of its own, because the listener lives as long as the answer: made in the hook, it would keep the upload
   * for as long. `close` is emitted only once, so `on` is enough: `once` would keep a wrapper for each open stream.
   */
  function leaveAtClose(request: FastifyRequest, response: ServerResponse): void {
    response.on('close', () => {
      const upload = uploads.get(request)
      upload?.pot.leave(upload)
    })
  }

  function endIfStalled(upload: Upload): void {
    const { raw } = upload.request
    const now = { atMs: nowMs(), bytes: raw.socket.bytesRead }
    const passedMs = now.atMs - upload.checked.atMs
    if (raw.complete || passedMs < STALL_S * 1_000) return
    const movedBytes = now.bytes - upload.checked.bytes
    upload.checked = now
    if (movedBytes * 1_000 >= limits.uploadBytesPerS * passedMs) return
    upload.pot.leave(upload)
    app.server.emit('clientError', new UploadStalled(limits.uploadBytesPerS), raw.socket)
  }
  const stop = options.everySecond(() => {
    for (const pot of [small, large]) for (const upload of pot.members()) endIfStalled(upload)
  })
  app.addHook('onClose', async () => stop())

  return (request) => {
    const upload = uploads.get(request)
    if (upload === undefined) return { toSignal: () => new AbortController().signal, release() {} }
    if (upload.isEvicted) throw tooMany()
    uploads.delete(request)
    return {
      toSignal: () => (upload.leaving ??= new AbortController()).signal,
      release: () => upload.pot.leave(upload),
    }
  }
}

const tooMany = () =>
  new ApiError('model_unavailable', 'Too many requests are arriving; try again.', {
    retryAfterS: RETRY_AFTER_S.largeBodies,
  })

import { PassThrough, type Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'
import { carriesBody } from './carries-body.ts'
import { toTooLargeMessage } from './handle-error.ts'
import { shorten } from './shorten.ts'

/** Fewer calls of the event loop than the default of 16 KiB; the decoding itself runs on threads of Node's own. */
const CHUNK = { chunkSize: 64 * 1024 }

/** 8 MiB, as RFC 9659 asks of senders; the decoder would take 128 MiB for a header that asks for it. */
const ZSTD_WINDOW_LOG = 23

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', () => createGunzip(CHUNK)],
  ['x-gzip', () => createGunzip(CHUNK)],
  ['deflate', () => createInflate(CHUNK)],
  ['br', () => createBrotliDecompress(CHUNK)],
  [
    'zstd',
    () => createZstdDecompress({ ...CHUNK, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
  ],
])

/**
 * Makes compressed bodies arrive decoded, for the hooks and the parser behind this one. They apply the limit of a body to
 * what is decoded; the decoder stops there, so a body that would decode to more costs no more than one of that size. One
 * encoding, because one within another has parts whose size nothing bounds. Another one is an `invalid_request`.
 */
export function installDecodeBody(app: FastifyInstance): void {
  app.addHook('preParsing', (...[request, reply, payload, done]) => {
    const encoding = encodingOf(request)
    if (encoding === null || !carriesBody(request)) return done(null, payload)
    const create = DECODERS.get(encoding)
    if (create === undefined)
      return done(refusal(`expected one of ${[...DECODERS.keys()].join(', ')}, not '${shorten(encoding)}'`))
    done(null, decode(payload, create(), { encoding, request, reply }))
  })
}

/** The encoding of a request's body, in lower case; null where it has none. */
export function encodingOf({ headers }: FastifyRequest): string | null {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  return encoding === '' || encoding === 'identity' ? null : encoding
}

function decode(
  encoded: RequestPayload,
  decoder: Transform,
  { encoding, request, reply }: { encoding: string; request: FastifyRequest; reply: FastifyReply },
): RequestPayload {
  const decoded = Object.assign(new PassThrough(), { receivedEncodedLength: 0 })
  const limit = request.routeOptions.bodyLimit ?? 0
  let decodedBytes = 0
  const stop = () => {
    encoded.unpipe(decoder)
    decoder.destroy()
    decoded.destroy()
  }
  const refuse = () => decoded.destroy(new ApiError('request_too_large', toTooLargeMessage(limit)))
  encoded.on('data', (chunk: Buffer) => {
    decoded.receivedEncodedLength += chunk.length
    if (decoded.receivedEncodedLength > limit) refuse()
  })
  decoded.on('data', (chunk: Buffer) => {
    decodedBytes += chunk.length
    if (decodedBytes > limit) refuse()
  })
  decoder.on('error', () => decoded.destroy(refusal(`the body is not ${encoding}`)))
  // Also where a hook refuses the body, or after Fastify listens no more.
  decoded.on('error', () => process.nextTick(stop))
  reply.raw.on('close', stop)
  encoded.pipe(decoder).pipe(decoded)
  return decoded
}

function refusal(problem: string): ApiError {
  return new ApiError('invalid_request', `'content-encoding': ${problem}.`, { param: 'content-encoding' })
}

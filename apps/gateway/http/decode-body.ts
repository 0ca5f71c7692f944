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

/**
 * The decoder's chunks are larger than Node's default of 16 KiB, so that the event loop is called less often. The
 * decoding itself runs on Node's own threads.
 */
const CHUNK = { chunkSize: 64 * 1024 }

/**
 * The binary logarithm of the largest zstd window. The window is 8 MiB, the most that RFC 9659 allows a sender. Without
 * this limit, a body's header could make the decoder take 128 MiB.
 */
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
 * Decodes compressed bodies before later hooks and the parser read them. The limit of a body applies to the decoded
 * bytes. The decoder stops at the limit, so a body that would decode to more costs no more than a body at the limit. A
 * body may have one encoding only: with an encoding inside another, nothing bounds the size of the bytes between the
 * two decoders. A `content-encoding` that is not exactly one of the names in `DECODERS` is an `invalid_request`.
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

/** Returns the encoding of a request's body, in lower case; null if the body has none. */
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
  // Other hooks also emit `error` on this stream, to refuse a body. Without a listener Node would throw the error.
  // Fastify removes its own listener; this listener stays.
  decoded.on('error', () => process.nextTick(stop))
  reply.raw.on('close', stop)
  encoded.pipe(decoder).pipe(decoded)
  return decoded
}

function refusal(problem: string): ApiError {
  return new ApiError('invalid_request', `'content-encoding': ${problem}.`, { param: 'content-encoding' })
}

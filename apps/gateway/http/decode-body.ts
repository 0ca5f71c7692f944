import { once } from 'node:events'
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
import { createNamedLimit } from '#libs/fair-share/fair-limit.ts'
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

/** How many bodies are decoded at once, in all and of one account. The decoder of one body may take 16 MiB. */
const MOST_DECODED = 4
const MOST_OF_ACCOUNT = 2

/**
 * Decodes compressed bodies before later hooks and the parser read them. A body is decoded when it has arrived, and in
 * turn: otherwise a sender of a few bytes could keep a decoder and its window for as long as its upload lasts. The limit of a body applies to the decoded
 * bytes. The decoder stops at the limit, so a body that would decode to more costs no more than a body at the limit. A
 * body may have one encoding only: with an encoding inside another, nothing bounds the size of the bytes between the
 * two decoders. A `content-encoding` that is not exactly one of the names in `DECODERS` is an `invalid_request`.
 */
export function installDecodeBody(
  app: FastifyInstance,
  accountOf: (request: FastifyRequest) => string,
): void {
  const runInTurn = createNamedLimit(MOST_DECODED, MOST_OF_ACCOUNT)
  app.addHook('preParsing', (...[request, reply, payload, done]) => {
    const encoding = encodingOf(request)
    if (encoding === null || !carriesBody(request)) return done(null, payload)
    const create = DECODERS.get(encoding)
    if (create === undefined)
      return done(refusal(`expected one of ${[...DECODERS.keys()].join(', ')}, not '${shorten(encoding)}'`))
    const run: Decoding['run'] = async (work) => await runInTurn(accountOf(request), work)
    done(null, decode(payload, { create, run, encoding, request, reply }))
  })
}

/** Returns the encoding of a request's body, in lower case; null if the body has none. */
export function encodingOf({ headers }: FastifyRequest): string | null {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  return encoding === '' || encoding === 'identity' ? null : encoding
}

function decode(
  encoded: RequestPayload,
  { create, run, encoding, request, reply }: Decoding & { request: FastifyRequest; reply: FastifyReply },
): RequestPayload {
  const decoded = Object.assign(new PassThrough(), { receivedEncodedLength: 0 })
  const limit = request.routeOptions.bodyLimit ?? 0
  const arrived: Buffer[] = []
  let decodedBytes = 0
  const refuse = () => decoded.destroy(new ApiError('request_too_large', toTooLargeMessage(limit)))
  encoded.on('data', (chunk: Buffer) => {
    decoded.receivedEncodedLength += chunk.length
    if (decoded.receivedEncodedLength > limit) refuse()
    if (decoded.destroyed) arrived.length = 0
    else arrived.push(chunk)
  })
  decoded.on('data', (chunk: Buffer) => {
    decodedBytes += chunk.length
    if (decodedBytes > limit) refuse()
  })
  encoded.on('end', () => {
    void run(async () => {
      if (decoded.destroyed) return
      const decoder = create()
      decoder.on('error', () => decoded.destroy(refusal(`the body is not ${encoding}`)))
      decoded.on('close', () => decoder.destroy())
      decoder.pipe(decoded)
      decoder.end(Buffer.concat(arrived.splice(0)))
      await once(decoded, 'close').catch(() => undefined)
    })
  })
  // Other hooks also emit `error` on this stream, to refuse a body. Without a listener Node would throw the error.
  // Fastify removes its own listener; this listener stays.
  decoded.on('error', () => process.nextTick(() => decoded.destroy()))
  reply.raw.on('close', () => decoded.destroy())
  return decoded
}

type Decoding = {
  readonly create: () => Transform
  readonly run: (work: () => Promise<void>) => Promise<void>
  readonly encoding: string
}

function refusal(problem: string): ApiError {
  return new ApiError('invalid_request', `'content-encoding': ${problem}.`, { param: 'content-encoding' })
}

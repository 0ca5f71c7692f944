import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const toBrotli = promisify(brotliCompress)
const toGzip = promisify(gzip)

/** A body in every encoding in which it is sent. */
export type Body = { readonly plain: Buffer; readonly br: Buffer; readonly gzip: Buffer }

/** Compresses a text as small as possible, because it is compressed once and sent often. */
export async function compress(text: string): Promise<Body> {
  const plain = Buffer.from(text)
  const [br, gzip] = await Promise.all([
    toBrotli(plain, {
      params: {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: plain.byteLength,
        // A larger window than the body costs memory, up to 32 MB, and gains nothing.
        [constants.BROTLI_PARAM_LGWIN]: toWindowBits(plain.byteLength),
      },
    }),
    toGzip(plain, { level: 9 }),
  ])
  return { plain, br, gzip }
}

function toWindowBits(bytes: number): number {
  const { BROTLI_MIN_WINDOW_BITS: least, BROTLI_MAX_WINDOW_BITS: most } = constants
  // 16 bytes of a window are not usable.
  return Math.min(most, Math.max(least, Math.ceil(Math.log2(bytes + 16))))
}

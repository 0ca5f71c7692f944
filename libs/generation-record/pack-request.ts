import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { LARGEST_BODY_BYTES } from '#libs/contracts/largest-body-bytes.ts'

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** A larger request is not stored in the record, but compressed in a side key. */
const INLINE_REQUEST_BYTES = 8_192

/**
 * Bounds the memory of a request that is unpacked. JSON can be longer than the body that it was translated from: a
 * byte may become an escape of six characters, and `1e20` becomes 21 digits.
 */
const MAX_REQUEST_BYTES = 6 * LARGEST_BODY_BYTES

type PackedJob = { readonly jobText: string; readonly requestBytes: Buffer }

/** Splits a job into the text for the record and, for a large request, the bytes for the side key (else empty). */
export async function packRequest(job: GenerationJob): Promise<PackedJob> {
  const { request, ...rest } = job
  const requestText = JSON.stringify(request)
  if (requestText.length <= INLINE_REQUEST_BYTES) {
    return { jobText: JSON.stringify(job), requestBytes: EMPTY }
  }
  return { jobText: JSON.stringify(rest), requestBytes: await deflate(requestText) }
}

/** Joins the parts of a job; the caller validates it. */
export async function unpackRequest(jobText: string, requestBytes: Buffer): Promise<unknown> {
  const job: object = JSON.parse(jobText)
  if (requestBytes.length === 0) return job
  const requestText = await inflate(requestBytes, { maxOutputLength: MAX_REQUEST_BYTES })
  return { ...job, request: JSON.parse(requestText.toString()) }
}

const EMPTY = Buffer.alloc(0)

import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { z } from 'zod'
import { ChoiceState, MAX_CHOICES } from '#libs/contracts/choices.ts'
import { GenerationJob } from '#libs/contracts/generation-job.ts'
import { LARGEST_BODY_BYTES } from '#libs/contracts/largest-body-bytes.ts'
import { toOrphanReceipt } from '#libs/contracts/settlement-proof.ts'

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** A larger request is compressed and stored in a side key, not in the job's text. */
const INLINE_REQUEST_BYTES = 8_192

/**
 * The most bytes of a compressed request after decompression. The JSON of a request can be longer than the body from
 * which it was translated: one byte may become an escape of six characters, and `1e20` becomes 21 digits.
 */
const MAX_REQUEST_BYTES = 6 * LARGEST_BODY_BYTES

/** A job as it is stored. The gateway packs a job once and passes the result to each of its enqueues. */
export type PackedJob = RecordFields & {
  /** The fields that the record does not have, as JSON, without a large request. */
  readonly jobText: string
  /** A large request, compressed; else empty. */
  readonly requestBytes: Buffer
  /** The size of `jobText` and `requestBytes` in the queue Redis. */
  readonly bytes: number
}

/** The fields of a job that are stored in its record, where scripts read them. */
type RecordFields = Pick<GenerationJob, 'id' | 'model' | 'gateway' | 'stream'>

export async function packJob(job: GenerationJob): Promise<PackedJob> {
  const { id, model, gateway, stream, request, hold, ...others } = job
  const rest = { hold: toStoredHold(hold, gateway), ...others }
  const compressed = compressLarge(request)
  const jobText = JSON.stringify(compressed === null ? { ...rest, request } : rest)
  const requestBytes = compressed === null ? EMPTY : await compressed
  const bytes = Buffer.byteLength(jobText) + requestBytes.length
  return { id, model, gateway, stream, jobText, requestBytes, bytes }
}

/** Returns null for a small request. */
function compressLarge(request: GenerationJob['request']): Promise<Buffer> | null {
  const text = JSON.stringify(request)
  return text.length <= INLINE_REQUEST_BYTES ? null : deflate(text)
}

/** Packs a job whose hold was replaced, without compressing its unchanged request again. */
export function repackHold(packed: PackedJob, hold: GenerationJob['hold']): PackedJob {
  const job = z.looseObject({}).parse(JSON.parse(packed.jobText))
  const jobText = JSON.stringify({ ...job, hold: toStoredHold(hold, packed.gateway) })
  return { ...packed, jobText, bytes: Buffer.byteLength(jobText) + packed.requestBytes.length }
}

const toStoredHold = (hold: GenerationJob['hold'], gateway: string): GenerationJob['hold'] => ({
  ...hold,
  receipt: toOrphanReceipt(hold.receipt, gateway),
})

/**
 * This version of Millrace stores each job with this mark. The mark is the hash of the job's schema, so a version with
 * another schema has another mark. A job with this mark was checked by its gateway, so the worker does not check it
 * again. The worker checks any other job against the schema.
 */
const JOB_FORM = createHash('sha1')
  .update(JSON.stringify(z.toJSONSchema(GenerationJob)))
  .digest('base64url')

/** The stored text of one epoch: the job, and the fields that are needed to read the large request and the ids. */
const StoredJob = z.object({
  /** Absent in jobs of versions of Millrace that did not mark them. */
  form: z.string().optional(),
  isRequestApart: z.boolean(),
  idCount: z.int().min(0),
  /** The choices, in the order of their ids. Absent: all ids belong to choice 0. */
  choices: z.array(ChoiceState).max(MAX_CHOICES).optional(),
  promptTokens: z.int().min(0).nullable(),
  /** The deaths of engines at which the generation was present (`quarantine.ts`). Absent: 0. */
  engineDeaths: z.int().min(0).optional(),
  job: z.looseObject({}),
})
type StoredJob = z.infer<typeof StoredJob>

export function toStoredJob(
  { jobText, requestBytes }: PackedJob,
  epoch: Pick<StoredJob, 'idCount' | 'choices' | 'promptTokens' | 'engineDeaths'>,
): string {
  const isRequestApart = requestBytes.length > 0
  const fields = JSON.stringify({ form: JOB_FORM, isRequestApart, ...epoch })
  return `${fields.slice(0, -1)},"job":${jobText}}`
}

/** Returns null if the text cannot be parsed. */
export function unpackStoredJob(text: string): StoredJob | null {
  try {
    const stored: unknown = JSON.parse(text)
    return isOfThisForm(stored) ? stored : StoredJob.parse(stored)
  } catch {
    return null
  }
}

function isOfThisForm(stored: unknown): stored is StoredJob {
  return typeof stored === 'object' && stored !== null && 'form' in stored && stored.form === JOB_FORM
}

/** Joins and parses the parts of a job; returns null if the result is not a valid job. */
export async function unpackJob(
  { job, isRequestApart, form }: StoredJob,
  recordFields: RecordFields,
  requestBytes: Buffer,
): Promise<GenerationJob | null> {
  try {
    if (!isRequestApart) return toJob(form, { ...job, ...recordFields })
    const requestText = await inflate(requestBytes, { maxOutputLength: MAX_REQUEST_BYTES })
    return toJob(form, { ...job, request: JSON.parse(requestText.toString()), ...recordFields })
  } catch {
    return null
  }
}

function toJob(form: string | undefined, joined: object): GenerationJob {
  return isJobOf(form, joined) ? joined : GenerationJob.parse(joined)
}

function isJobOf(form: string | undefined, _joined: object): _joined is GenerationJob {
  return form === JOB_FORM
}

const EMPTY = Buffer.alloc(0)

import { createHash } from 'node:crypto'
import { status } from '@grpc/grpc-js'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { openGrpcClient } from '#libs/grpc/open-client.ts'
import { UNLIMITED_MESSAGES } from '#libs/grpc/serve-grpc.ts'
import { createTimeLimit } from '#libs/grpc/time-limit.ts'
import type { GetTokenizerChunk__Output } from '#proto/types/smg/grpc/common/GetTokenizerChunk.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'
import { isModelFile, type ModelFiles } from './model-files.ts'
import { unzip } from './unzip.ts'

/** vLLM's servicer sets no limits. These are the limits of vLLM's own gateway for the same call. */
const LIMITS = { packedBytes: 200 * 2 ** 20, entries: 50, unpackedBytes: 500 * 2 ** 20 }
const TIMEOUT_MS = 60_000

/**
 * Fetches the model's files from the engine at `address` (`host:port`) with vLLM's GetTokenizer, which streams a zip in
 * chunks and sends its SHA-256 with the last chunk. Opens a connection for this call. Throws a ModelFetchError if the
 * engine does not answer, if it has no such files (it was started with a Hugging Face id instead of a folder), or if
 * the archive is incomplete, damaged or larger than the limits.
 */
export async function fetchModelFiles(
  address: string,
  { packedBytes = LIMITS.packedBytes, timeoutMs = TIMEOUT_MS } = {},
): Promise<ModelFiles> {
  const { VllmEngine } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine
  const options = { ...UNLIMITED_MESSAGES, 'grpc.enable_retries': 0 }
  const client = openGrpcClient(VllmEngine, address, { options })
  const limit = createTimeLimit(timeoutMs)
  try {
    const chunks = client.GetTokenizer({}, limit.metadata)
    limit.begin(chunks)
    const archive = await receive(chunks, packedBytes)
    const files = await unzip(archive, LIMITS, isModelFile)
    if (!files.has('tokenizer.json')) throw new Error('its archive has no tokenizer.json')
    return files
  } catch (failure) {
    const error = failure instanceof Error ? limit.explain(failure) : new Error(String(failure))
    throw new ModelFetchError(`the engine at ${address} sent no usable model files: ${error.message}`, error)
  } finally {
    limit.end()
    client.close()
  }
}

export class ModelFetchError extends Error {
  /** True if the engine did not answer, for instance because it is still starting. */
  readonly isTransient: boolean

  constructor(message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'ModelFetchError'
    this.isTransient = cause instanceof Error && 'code' in cause && UNANSWERED.has(cause.code)
  }
}

const UNANSWERED: ReadonlySet<unknown> = new Set([status.UNAVAILABLE, status.DEADLINE_EXCEEDED])

/**
 * Returns the joined chunks. Throws if their SHA-256 is not the one that the engine sent in the last chunk. If the
 * chunks together exceed `packedBytes`, cancels the call and throws.
 */
async function receive(
  chunks: AsyncIterable<GetTokenizerChunk__Output> & { cancel(): void },
  packedBytes: number,
): Promise<Buffer> {
  const hash = createHash('sha256')
  const parts: Buffer[] = []
  let bytes = 0
  let sha256 = ''
  try {
    for await (const chunk of chunks) {
      bytes += chunk.data.length
      if (bytes > packedBytes) throw new Error(`its archive has more than ${packedBytes} bytes`)
      hash.update(chunk.data)
      parts.push(chunk.data)
      sha256 = chunk.sha256
    }
  } finally {
    chunks.cancel()
  }
  if (hash.digest('hex') !== sha256.toLowerCase())
    throw new Error('the SHA-256 of its archive is not the one it sent')
  return Buffer.concat(parts)
}

import { createHash } from 'node:crypto'
import { credentials, status } from '@grpc/grpc-js'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { UNLIMITED_MESSAGES } from '#libs/grpc/serve-grpc.ts'
import type { GetTokenizerChunk__Output } from '#proto/types/smg/grpc/common/GetTokenizerChunk.ts'
import type { ProtoGrpcType } from '#proto/types/vllm_engine.ts'
import { isTokenizerFile, type TokenizerFiles } from './tokenizer-files.ts'
import { unzip } from './unzip.ts'

/** The servicer limits nothing; these are the limits of its own gateway. */
const LIMITS = { packedBytes: 200 * 2 ** 20, entries: 50, unpackedBytes: 500 * 2 ** 20 }
const TIMEOUT_MS = 60_000

/**
 * The tokenizer's files of the engine at `address` (`host:port`), by vLLM's GetTokenizer: a zip in chunks, with its
 * SHA-256 in the last one. Opens a connection for this one call. Throws when the engine does not answer or has no such
 * files (one that was started with a Hugging Face id instead of a folder has none to give), and for an archive that is
 * incomplete, damaged or larger than a tokenizer can be: always a TokenizerFetchError.
 */
export async function fetchTokenizerFiles(
  address: string,
  { packedBytes = LIMITS.packedBytes, timeoutMs = TIMEOUT_MS } = {},
): Promise<TokenizerFiles> {
  const { VllmEngine } = loadProto<ProtoGrpcType>('vllm_engine.proto').vllm.grpc.engine
  const options = { ...UNLIMITED_MESSAGES, 'grpc.enable_http_proxy': 0, 'grpc.enable_retries': 0 }
  const client = new VllmEngine(address, credentials.createInsecure(), options)
  try {
    const archive = await receive(client.GetTokenizer({}, { deadline: Date.now() + timeoutMs }), packedBytes)
    const files = await unzip(archive, LIMITS, isTokenizerFile)
    if (!files.has('tokenizer.json')) throw new Error('it sends no tokenizer.json')
    return files
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    throw new TokenizerFetchError(`the engine at ${address} gives no tokenizer: ${problem}`, error)
  } finally {
    client.close()
  }
}

export class TokenizerFetchError extends Error {
  /** The engine did not answer: it may not have started yet. */
  readonly mayPass: boolean

  constructor(message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'TokenizerFetchError'
    this.mayPass = cause instanceof Error && 'code' in cause && UNANSWERED.has(cause.code)
  }
}

const UNANSWERED: ReadonlySet<unknown> = new Set([status.UNAVAILABLE, status.DEADLINE_EXCEEDED])

/** Leaving the loop early cancels the call. */
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
      if (bytes > packedBytes) throw new Error(`it sends more than ${packedBytes} bytes`)
      hash.update(chunk.data)
      parts.push(chunk.data)
      sha256 = chunk.sha256
    }
  } finally {
    chunks.cancel()
  }
  if (hash.digest('hex') !== sha256.toLowerCase())
    throw new Error('what it sends has another SHA-256 than it says')
  return Buffer.concat(parts)
}

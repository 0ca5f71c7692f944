import type { Usage } from '#libs/contracts/generation-event.ts'
import { toUsageCost } from '../fields/usage-cost.ts'
import type { EncodingFormat } from './embedding-body.ts'
import type { EmbeddingObject } from './embedding-list.ts'

/** Returns one entry of `data`, as JSON text. */
export function toEntry(vector: Float32Array, index: number, encoding: EncodingFormat): string {
  const embedding = encoding === 'base64' ? toBase64(vector) : Array.from(vector)
  const entry: EmbeddingObject = { object: 'embedding', index, embedding }
  return JSON.stringify(entry)
}

/** Returns the response body as JSON text. The entries are JSON text already. */
export function toList(entries: readonly string[], model: string, used: Usage): string {
  const { promptTokens } = used
  const counts = { prompt_tokens: promptTokens, total_tokens: promptTokens }
  const usage = JSON.stringify({ ...counts, ...toUsageCost(used) })
  return `{"object":"list","data":[${entries.join(',')}],"model":${JSON.stringify(model)},"usage":${usage}}`
}

/** The bytes must be little-endian. They are, because the supported platforms (x64, arm64) are little-endian. */
function toBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

import type { Usage } from '#libs/contracts/generation-event.ts'
import { toUsageCost } from '../fields/usage-cost.ts'
import type { EncodingFormat } from './embedding-body.ts'
import type { EmbeddingObject } from './embedding-list.ts'

/** One entry of `data`, as JSON text. */
export function toEntry(vector: Float32Array, index: number, encoding: EncodingFormat): string {
  const embedding = encoding === 'base64' ? toBase64(vector) : Array.from(vector)
  const entry: EmbeddingObject = { object: 'embedding', index, embedding }
  return JSON.stringify(entry)
}

/** The response body as JSON text, from entries that are JSON already. */
export function toList(entries: readonly string[], model: string, used: Usage): string {
  const { promptTokens } = used
  const counts = { prompt_tokens: promptTokens, total_tokens: promptTokens }
  const usage = JSON.stringify({ ...counts, ...toUsageCost(used) })
  return `{"object":"list","data":[${entries.join(',')}],"model":${JSON.stringify(model)},"usage":${usage}}`
}

/** The bytes are little-endian: the supported platforms (x64, arm64) are, and so is a `Float32Array` there. */
function toBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

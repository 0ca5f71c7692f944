import type { Usage } from '#libs/contracts/generation-event.ts'
import type { EncodingFormat } from './embedding-body.ts'
import type { EmbeddingObject } from './embedding-list.ts'

/** One entry of the answer's data, as JSON text. */
export function toEntry(vector: Float32Array, index: number, encoding: EncodingFormat): string {
  const embedding = encoding === 'base64' ? toBase64(vector) : Array.from(vector)
  const entry: EmbeddingObject = { object: 'embedding', index, embedding }
  return JSON.stringify(entry)
}

/** The whole answer as JSON text, around entries that were written as their vectors came. */
export function toList(entries: readonly string[], model: string, { promptTokens }: Usage): string {
  const usage = JSON.stringify({ prompt_tokens: promptTokens, total_tokens: promptTokens })
  return `{"object":"list","data":[${entries.join(',')}],"model":${JSON.stringify(model)},"usage":${usage}}`
}

/** The order of memory is little-endian on every machine that Node runs our tokenizer on (x64, arm64). */
function toBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

import type { ErrorBody } from './chat.ts'

export type EmbeddingsCall = {
  baseUrl: string
  apiKey: string
  input: string | readonly string[]
  fields?: Record<string, unknown>
  signal?: AbortSignal
}

export type EmbeddingsAnswer =
  | {
      status: 200
      object: string
      model: string
      data: { object: string; index: number; embedding: number[] | string }[]
      usage: { prompt_tokens: number; total_tokens: number }
    }
  | { status: number; error: ErrorBody & { param?: string }; retryAfter: string | null }

/** Sends one embeddings request over plain HTTP. Rejects if the connection breaks. */
export async function embed(call: EmbeddingsCall): Promise<EmbeddingsAnswer> {
  const { baseUrl, apiKey, input, fields = {}, signal } = call
  const response = await fetch(`${baseUrl}/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-embed', input, ...fields }),
    ...(signal === undefined ? {} : { signal }),
  })
  const body = JSON.parse(await response.text())
  if (response.status === 200) return { status: 200, ...body }
  return { status: response.status, error: body.error, retryAfter: response.headers.get('retry-after') }
}

/** As `embed`, for tests that expect vectors of numbers; throws on anything else. */
export async function embedOk(call: EmbeddingsCall) {
  const answer = await embed(call)
  if (!('data' in answer)) throw new Error(`HTTP ${answer.status}: ${JSON.stringify(answer.error)}`)
  const vectors = answer.data.map(({ embedding }) => {
    if (typeof embedding === 'string') throw new Error('the vector is text')
    return embedding
  })
  return { ...answer, vectors }
}

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { check, NOTHING, type Received } from './received.ts'

const EmbeddingList = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()) })),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
})

/** The output is a hash of each vector. */
export function readEmbeddings(body: string): Received {
  if (body === '') return NOTHING
  const { data, usage } = EmbeddingList.parse(JSON.parse(body))
  const output: Record<string, string> = {}
  for (const [place, { index, embedding }] of data.entries()) {
    check(index === place, `vector ${index} stands at ${place}`)
    output[`vector ${index}`] = createHash('sha1').update(JSON.stringify(embedding)).digest('base64')
  }
  return {
    output,
    finish: 'embedded',
    usage: { prompt: usage.prompt_tokens, cached: 0, completion: 0, reasoning: 0 },
    error: null,
    ended: true,
  }
}

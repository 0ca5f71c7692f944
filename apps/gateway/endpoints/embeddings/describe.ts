import { z } from 'zod'
import { ModelId } from '../fields/model-id.ts'
import { GENERATION_ERRORS } from '../generation-errors.ts'
import type { OperationDescription } from '../operation-description.ts'
import { EmbeddingBody } from './embedding-body.ts'
import { EmbeddingList } from './embedding-list.ts'

const head = { object: 'list', model: 'demo-embed', usage: { prompt_tokens: 4, total_tokens: 4 } }

export const embeddingsDescription: OperationDescription = {
  method: 'post',
  path: '/v1/embeddings',
  id: 'createEmbedding',
  summary: 'Turns texts into vectors.',
  description: 'One vector for each input, in the order of the inputs. Only for embedding models.',
  parameters: [],
  request: {
    name: 'EmbeddingRequest',
    schema: z.object({ model: ModelId, ...EmbeddingBody.shape }),
    examples: {
      text: { model: 'demo-embed', input: 'Hello!' },
      texts: { model: 'demo-embed', input: ['Hello!', 'Goodbye!'], encoding_format: 'base64' },
    },
  },
  answer: {
    name: 'EmbeddingList',
    schema: EmbeddingList,
    examples: {
      float: { ...head, data: [{ object: 'embedding', index: 0, embedding: [0.6, -0.8] }] },
      base64: { ...head, data: [{ object: 'embedding', index: 0, embedding: 'mpkZP83MTL8=' }] },
    },
  },
  stream: null,
  errors: GENERATION_ERRORS,
  promptField: 'input',
}

import { z } from 'zod'
import { describeParameters } from '#libs/http-contract/describe-parameters.ts'
import type { OperationDescription } from '../operation-description.ts'
import { ANTHROPIC_HEADERS } from '../fields/anthropic-headers.ts'
import { AnthropicModel, AnthropicModelList, ModelList, ModelObject } from './model-object.ts'
import { Page } from './route.ts'

const example = { id: 'demo-chat', object: 'model', created: 1_764_547_200, owned_by: 'millrace' }
const anthropic = {
  type: 'model',
  id: 'demo-chat',
  display_name: 'demo-chat',
  created_at: '2025-12-01T00:00:00.000Z',
}

export const listModelsDescription: OperationDescription = {
  method: 'get',
  path: '/v1/models',
  id: 'listModels',
  summary: 'Lists the catalog.',
  description:
    'Every model of the live catalog, including models that are unavailable at the moment. With x-api-key or ' +
    'anthropic-version, the list has the shape and the pages of Anthropic’s interface.',
  parameters: [...ANTHROPIC_HEADERS, ...describeParameters('query', Page)],
  request: null,
  answer: {
    name: 'ModelList',
    schema: z.union([ModelList, AnthropicModelList]),
    examples: {
      catalog: { object: 'list', data: [example] },
      anthropic: { data: [anthropic], has_more: false, first_id: 'demo-chat', last_id: 'demo-chat' },
    },
  },
  stream: null,
  errors: ['invalid_request', 'invalid_key', 'model_unavailable'],
}

export const describeModelDescription: OperationDescription = {
  method: 'get',
  path: '/v1/models/{model}',
  id: 'retrieveModel',
  summary: 'Describes one model.',
  description: 'Slashes in the id may be raw or percent-encoded.',
  parameters: [
    ...describeParameters(
      'path',
      z.object({
        model: z.string().min(1).meta({
          description: 'The id of a model in the catalog.',
          example: 'demo-chat',
        }),
      }),
    ),
    ...ANTHROPIC_HEADERS,
  ],
  request: null,
  answer: {
    name: 'Model',
    schema: z.union([ModelObject, AnthropicModel]),
    examples: { model: example, anthropic },
  },
  stream: null,
  errors: ['invalid_request', 'invalid_key', 'model_not_found', 'model_unavailable'],
}

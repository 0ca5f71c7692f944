import { z } from 'zod'
import { describeParameters } from '#libs/http-contract/describe-parameters.ts'
import type { OperationDescription } from '../operation-description.ts'
import { ModelList, ModelObject } from './model-object.ts'

const example = { id: 'demo-chat', object: 'model', created: 1_764_547_200, owned_by: 'millrace' }

export const listModelsDescription: OperationDescription = {
  method: 'get',
  path: '/v1/models',
  id: 'listModels',
  summary: 'Lists the catalog.',
  description: 'Every model of the live catalog, including models that are unavailable at the moment.',
  parameters: [],
  request: null,
  answer: {
    name: 'ModelList',
    schema: ModelList,
    examples: { catalog: { object: 'list', data: [example] } },
  },
  stream: null,
  errors: ['invalid_key', 'model_unavailable'],
}

export const describeModelDescription: OperationDescription = {
  method: 'get',
  path: '/v1/models/{model}',
  id: 'retrieveModel',
  summary: 'Describes one model.',
  description: 'Slashes in the id may be raw or percent-encoded.',
  parameters: describeParameters(
    'path',
    z.object({
      model: z.string().min(1).meta({
        description: 'The id of a model in the catalog.',
        example: 'demo-chat',
      }),
    }),
  ),
  request: null,
  answer: { name: 'Model', schema: ModelObject, examples: { model: example } },
  stream: null,
  errors: ['invalid_request', 'invalid_key', 'model_not_found', 'model_unavailable'],
}

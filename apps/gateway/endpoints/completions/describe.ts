import { toRequestSchema } from '../fields/field-rules.ts'
import { GENERATION_ERRORS } from '../generation-errors.ts'
import type { OperationDescription } from '../operation-description.ts'
import { COMPLETION_FIELDS } from './completion-body.ts'
import { CompletionChunk } from './completion-chunk.ts'
import { CompletionObject } from './completion-object.ts'

const head = { id: 'cmpl-0199', object: 'text_completion', created: 1_764_547_200, model: 'demo-chat' }

const chunk = (text: string, finishReason: string | null) => ({
  ...head,
  choices: [{ index: 0, text, finish_reason: finishReason }],
})

export const completionsDescription: OperationDescription = {
  method: 'post',
  path: '/v1/completions',
  id: 'createCompletion',
  summary: 'Answers a prompt (legacy).',
  description:
    'The prompt becomes a chat of one user message. With echo, the prompt reaches the model as it is, without the ' +
    'chat template. There are no tools and no reasoning; a stream has no usage.',
  parameters: [],
  request: {
    name: 'CompletionRequest',
    schema: toRequestSchema(COMPLETION_FIELDS),
    examples: {
      prompt: { model: 'demo-chat', prompt: 'Say hello.' },
      lines: { model: 'demo-chat', prompt: ['Say hello.', 'Then say goodbye.'], max_tokens: 50 },
      stream: { model: 'demo-chat', prompt: 'Say hello.', stream: true },
      scores: { model: 'demo-chat', prompt: 'Paris is in France.', echo: true, logprobs: 1, max_tokens: 0 },
    },
  },
  answer: {
    name: 'Completion',
    schema: CompletionObject,
    examples: {
      text: {
        ...head,
        choices: [{ index: 0, text: 'Hello!', finish_reason: 'stop' }],
        usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
      },
    },
  },
  stream: {
    event: {
      name: 'CompletionChunk',
      schema: CompletionChunk,
      examples: { text: chunk('Hello!', null), finish: chunk('', 'stop') },
    },
    areNamed: false,
    endsWithDone: true,
    headers: {},
  },
  errors: [...GENERATION_ERRORS, 'upstream_error'],
  promptField: 'prompt',
}

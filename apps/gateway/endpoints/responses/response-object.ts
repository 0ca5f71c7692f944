import { z } from 'zod'
import { MAX_TOP_LOGPROBS } from '#libs/contracts/generation-request.ts'
import { LogprobEntry } from '../fields/logprob-entries.ts'
import { UsageCost } from '../fields/usage-cost.ts'

const ItemStatus = z.enum(['in_progress', 'completed', 'incomplete'])
export type ItemStatus = z.infer<typeof ItemStatus>

export const OutputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.never()),
  logprobs: z.array(LogprobEntry).meta({
    description: 'One entry for each token of the text; empty unless include asks for them.',
  }),
})

export const SummaryText = z.object({ type: z.literal('summary_text'), text: z.string() })

const ReasoningItem = z.object({
  id: z.string(),
  type: z.literal('reasoning'),
  status: ItemStatus,
  summary: z
    .array(SummaryText)
    .meta({ description: 'The complete reasoning text, because clients show the summary.' }),
  content: z.array(z.object({ type: z.literal('reasoning_text'), text: z.string() })),
  encrypted_content: z.string().optional().meta({
    description: 'The reasoning, encrypted for this account, if include asks for it.',
  }),
})

const MessageItem = z.object({
  id: z.string(),
  type: z.literal('message'),
  status: ItemStatus,
  role: z.literal('assistant'),
  content: z.array(OutputText),
})

const FunctionCallItem = z.object({
  id: z.string(),
  type: z.literal('function_call'),
  status: ItemStatus,
  call_id: z.string().meta({ description: 'The call_id of the function_call_output with the result.' }),
  name: z.string(),
  namespace: z
    .string()
    .optional()
    .meta({ description: 'The name space of the function; absent if it has none.' }),
  arguments: z.string().meta({ description: 'The text that the model generated; not always valid JSON.' }),
})

export const OutputItem = z.discriminatedUnion('type', [ReasoningItem, MessageItem, FunctionCallItem])
export type OutputItem = z.infer<typeof OutputItem>

const ResponseUsage = z.object({
  input_tokens: z.int().min(0),
  input_tokens_details: z.object({ cached_tokens: z.int().min(0), cache_write_tokens: z.int().min(0) }),
  output_tokens: z.int().min(0),
  output_tokens_details: z.object({ reasoning_tokens: z.int().min(0) }),
  total_tokens: z.int().min(0),
  cost: UsageCost,
})

const Tool = z.object({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.record(z.string(), z.unknown()).nullable(),
  strict: z.boolean().meta({ description: 'False: only a forced call is constrained to its schema.' }),
})

const TextFormat = z.union([
  z.object({ type: z.enum(['text', 'json_object']) }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string().nullable(),
    description: z.null(),
    schema: z.record(z.string(), z.unknown()).nullable(),
    strict: z.literal(true),
  }),
])

/** The effective settings of the request. Long settings are omitted (`to-settings.ts`). */
const SETTINGS = {
  background: z.literal(false),
  frequency_penalty: z.number(),
  instructions: z.string().nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.null(),
  metadata: z.record(z.string(), z.string()),
  parallel_tool_calls: z.boolean(),
  presence_penalty: z.number(),
  previous_response_id: z.null(),
  prompt_cache_key: z.string().nullable(),
  reasoning: z.object({
    effort: z.enum(['none', 'low', 'high', 'max']),
    summary: z.enum(['auto', 'concise', 'detailed']).nullable(),
  }),
  safety_identifier: z.string().nullable(),
  service_tier: z.literal('default'),
  store: z.literal(false),
  temperature: z.number(),
  text: z.object({ format: TextFormat }),
  tool_choice: z.union([
    z.enum(['auto', 'none', 'required']),
    z.object({ type: z.literal('function'), name: z.string() }),
  ]),
  tools: z.array(Tool),
  top_logprobs: z.int().min(0).max(MAX_TOP_LOGPROBS),
  top_p: z.number(),
  truncation: z.literal('disabled'),
  user: z.string().nullable(),
}

const ResponseSettings = z.object(SETTINGS)
export type ResponseSettings = z.infer<typeof ResponseSettings>

/** Every field of a response that OpenAI's clients and Open Responses require. */
export const ResponseObject = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int().meta({ description: 'Unix seconds.' }),
  completed_at: z
    .int()
    .nullable()
    .meta({ description: 'Unix seconds; null unless the status is completed.' }),
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  incomplete_details: z.object({ reason: z.literal('max_output_tokens') }).nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  model: z.string().meta({ description: 'The model id of the request.' }),
  usage: ResponseUsage.nullable(),
  ...SETTINGS,
  output: z.array(OutputItem),
})
export type ResponseObject = z.infer<typeof ResponseObject>

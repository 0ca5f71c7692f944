import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { BOOLEAN, TEXT } from '../fields/field-texts.ts'
import { LEAST_OUTPUT_FIELDS } from '../fields/least-output.ts'
import { TopLogprobs } from '../fields/logprobs.ts'
import { ResponseFormat } from '../fields/output-format.ts'
import { OutputLimit } from '../fields/output-limit.ts'
import { EffortOrNone, REASONING_FIELDS, REASONING_SWITCHES } from '../fields/reasoning-switches.ts'
import { recordOf } from '../fields/record-of.ts'
import { SAMPLING_FIELDS } from '../fields/sampling.ts'
import { STRUCTURED_FIELDS } from '../fields/structured-outputs.ts'
import { TOOL_FIELDS } from '../fields/tools.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { Input } from './input-items.ts'

const SUMMARIES = ['auto', 'concise', 'detailed'] as const

/** With each of these values, the summary is the complete reasoning text. */
const Summary = z.enum(SUMMARIES, `expected one of ${SUMMARIES.join(', ')}`)

const Label = z.string(TEXT).max(512, 'expected at most 512 characters')

const METADATA = 'expected an object of at most 16 texts, with keys up to 64 and values up to 512 characters'

const Metadata = recordOf(
  { name: z.string().max(64), value: z.string(METADATA).max(512, METADATA) },
  { expected: METADATA, most: 16 },
)

/** The value of `include` that asks for log probabilities. */
export const LOGPROBS = 'message.output_text.logprobs'

/**
 * The supported fields of a Responses request, except `model`, which is read first. Rejected fields are listed in
 * `unsupported-fields.ts` and `refuse-unsupported.ts`; all others are ignored.
 */
export const ResponsesBody = z.object({
  input: Input,
  instructions: optional(z.string(TEXT)),
  max_output_tokens: optional(OutputLimit),
  max_completion_tokens: optional(OutputLimit),
  max_tokens: optional(OutputLimit),
  stream: optional(z.boolean(BOOLEAN)),
  reasoning: optional(z.object({ ...REASONING_FIELDS, summary: optional(Summary) }, 'expected an object')),
  reasoning_effort: optional(EffortOrNone),
  ...REASONING_SWITCHES,
  ...TOOL_FIELDS,
  response_format: optional(ResponseFormat),
  ...STRUCTURED_FIELDS,
  text: optional(z.object({ format: optional(ResponseFormat) }, 'expected an object')),
  ...LEAST_OUTPUT_FIELDS,
  ...SAMPLING_FIELDS,
  include: optional(listOf(z.unknown(), { expected: 'expected an array' })).meta({
    description: `With ${LOGPROBS}, messages have the log probability of each token; other values have no effect.`,
  }),
  top_logprobs: optional(TopLogprobs).meta({
    description: `How many of the most probable tokens each entry of logprobs lists; needs ${LOGPROBS} in include.`,
  }),
  // These fields are only repeated in the response.
  metadata: optional(Metadata),
  user: optional(Label),
  safety_identifier: optional(Label),
  prompt_cache_key: optional(Label),
})
export type ResponsesBody = z.output<typeof ResponsesBody>

import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { instead, tableOf } from '../fields/field-rules.ts'
import { TEXT } from '../fields/field-texts.ts'
import { GENERATION_FIELDS } from '../fields/generation-fields.ts'
import { TopLogprobs } from '../fields/logprobs.ts'
import { recordOf } from '../fields/record-of.ts'
import { TOOL_FIELDS } from '../fields/tools.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { Input } from './input-items.ts'

const Label = z.string(TEXT).max(512, 'expected at most 512 characters')

const METADATA = 'expected an object of at most 16 texts, with keys up to 64 and values up to 512 characters'

const Metadata = recordOf(
  { name: z.string().max(64), value: z.string(METADATA).max(512, METADATA) },
  { expected: METADATA, most: 16 },
)

/** The value of `include` that asks for log probabilities. */
export const LOGPROBS = 'message.output_text.logprobs'
/** The value of `include` that asks for encrypted reasoning. */
export const SEALED_REASONING = 'reasoning.encrypted_content'

/** The fields of a Responses request that are read, except `model`, which is read first. */
export const ResponsesBody = z.object({
  input: Input,
  instructions: optional(z.string(TEXT)),
  ...GENERATION_FIELDS,
  ...TOOL_FIELDS,
  include: optional(listOf(z.unknown(), { expected: 'expected an array' })).meta({
    description:
      `With ${LOGPROBS}, messages have the log probability of each token; with ${SEALED_REASONING}, reasoning ` +
      'items can be sent back encrypted. Other values have no effect.',
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

export const RESPONSES_FIELDS = tableOf(ResponsesBody, {
  prompt: instead('send its text as instructions and input'),
})

import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { CHOICE_FIELDS } from '../fields/choices.ts'
import { tableOf } from '../fields/field-rules.ts'
import { BOOLEAN } from '../fields/field-texts.ts'
import { GENERATION_FIELDS } from '../fields/generation-fields.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { OutputLimit } from '../fields/output-limit.ts'
import { TOP_LOGPROBS, TopLogprobs } from '../fields/logprobs.ts'

/**
 * The output limit, in tokens, of a request without `max_tokens`. The interface defines this number. Chat
 * completions use the model's maximum instead, because 1,024 tokens would truncate tool calls and reasoning; legacy
 * completions have neither.
 */
export const DEFAULT_MAX_TOKENS = 1_024

const PROMPT =
  'expected text or an array of strings; token ids are not supported: send their text ' +
  '(lm-eval does with tokenized_requests=False)'

const MAX_TOKENS = "expected a whole number of at least 1, or 0 with 'echo'"

const Prompt = z
  .union([z.string(), listOf(z.string(PROMPT), { expected: PROMPT })], PROMPT)
  .refine((prompt) => typeof prompt === 'string' || prompt.length > 0, 'expected at least one string')

/** The fields of a legacy completion request that are read, except `model`, which is read first. */
export const CompletionBody = z.object({
  prompt: Prompt.meta({
    description: 'An array is joined with a newline character; with echo, it has one string.',
  }),
  // The fields of reasoning are only checked, because reasoning is off.
  ...GENERATION_FIELDS,
  max_tokens: optional(z.union([OutputLimit, z.literal(0)], MAX_TOKENS)).meta({
    description: `Absent: ${DEFAULT_MAX_TOKENS}. 0 only with echo: the answer is the prompt alone.`,
  }),
  echo: optional(z.boolean(BOOLEAN)).meta({
    description:
      'True: the prompt reaches the model as it is, without the chat template, and the answer begins with it. ' +
      'With logprobs, the lists begin with the tokens of the prompt. There is one prompt and one answer, and the ' +
      'output is not constrained to a format.',
  }),
  add_special_tokens: optional(z.boolean(BOOLEAN)).meta({
    description:
      'With echo: whether the special tokens of the tokenizer are put around the prompt, such as one for the ' +
      'beginning. Absent: true. Without echo, only false is allowed. Of vLLM.',
  }),
  ...CHOICE_FIELDS,
  logprobs: optional(z.union([TopLogprobs, z.literal(false)], TOP_LOGPROBS)).meta({
    description:
      'The answer has the log probability of each output token, and of this many most probable tokens. ' +
      'False: as absent.',
  }),
})
export const COMPLETION_FIELDS = tableOf(CompletionBody)
export type CompletionBody = z.output<typeof CompletionBody>

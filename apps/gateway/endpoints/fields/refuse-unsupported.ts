import { ApiError } from '#libs/contracts/api-error.ts'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'

type UnsupportedField = {
  readonly isHarmless: (value: unknown) => boolean
  readonly allowed: string | null
  /** An alternative that the error message recommends. */
  readonly instead?: string
}

/** Fields that are not supported, by their names in the body. */
export type UnsupportedFields = Readonly<Record<string, UnsupportedField>>

export const never: UnsupportedField = { isHarmless: () => false, allowed: null }
export const only = (value: unknown): UnsupportedField => ({
  isHarmless: (given) => given === value,
  allowed: JSON.stringify(value),
})
export const onlyEmpty: UnsupportedField = {
  isHarmless: (value) => Array.isArray(value) && value.length === 0,
  allowed: 'an empty array',
}

/**
 * Fields that would change the output and are not supported, each with the values that have no effect. They are
 * rejected because ignoring them would return a wrong answer. Every other field of the OpenAI and vLLM interfaces for
 * chat and legacy completions is either parsed by the operation or has no visible effect on the answer.
 */
const UNSUPPORTED: UnsupportedFields = {
  n: only(1),
  logprobs: only(false),
  top_logprobs: only(0),
  prompt_logprobs: never,
  functions: onlyEmpty,
  function_call: { isHarmless: (value) => value === 'none' || value === 'auto', allowed: '"auto" or "none"' },
  modalities: {
    isHarmless: (value) => Array.isArray(value) && value.every((modality) => modality === 'text'),
    allowed: '["text"]',
  },
  audio: never,
  prediction: never,
  web_search_options: never,
  suffix: only(''),
  echo: only(false),
  best_of: only(1),
  use_beam_search: only(false),
  min_tokens: only(0),
  ignore_eos: only(false),
  stop_token_ids: onlyEmpty,
  include_stop_str_in_output: only(false),
  skip_special_tokens: only(true),
  truncate_prompt_tokens: never,
  bad_words: onlyEmpty,
  allowed_token_ids: never,
  logits_processors: onlyEmpty,
  structured_outputs: never,
  guided_json: never,
  guided_regex: never,
  guided_choice: never,
  guided_grammar: never,
  structural_tag: never,
  add_generation_prompt: only(true),
  continue_final_message: only(false),
  chat_template: never,
  chat_template_kwargs: {
    isHarmless: (value) => typeof value === 'object' && value !== null && Object.keys(value).length === 0,
    allowed: 'an empty object',
  },
  documents: onlyEmpty,
  prompt_embeds: never,
}

/**
 * Throws an `ApiError` `invalid_request` that names the first field with an unsupported value. `own` are the fields
 * of this operation alone; they take precedence over the common ones.
 */
export function refuseUnsupported(body: JsonObject, own: UnsupportedFields = {}): void {
  for (const [field, value] of Object.entries(body)) {
    if (value === null) continue
    const table = [own, UNSUPPORTED].find((fields) => Object.hasOwn(fields, field))
    const unsupported = table?.[field]
    if (unsupported === undefined || unsupported.isHarmless(value)) continue
    const { allowed, instead } = unsupported
    const only = allowed === null ? 'is not supported' : `is not supported except as ${allowed}`
    const advice = instead === undefined ? '' : `: ${instead}`
    throw new ApiError('invalid_request', `'${field}' ${only}${advice}.`, { param: field })
  }
}

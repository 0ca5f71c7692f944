import { ApiError } from '#libs/contracts/api-error.ts'
import type { JsonObject } from '../../http/parse-body.ts'

type Harmless = {
  readonly isHarmless: (value: unknown) => boolean
  readonly allowed: string | null
  /** What to do instead, where there is a way. */
  readonly instead?: string
}

/** Fields that are not served, by their names in the body. */
export type Unserved = Readonly<Record<string, Harmless>>

export const never: Harmless = { isHarmless: () => false, allowed: null }
export const only = (value: unknown): Harmless => ({
  isHarmless: (given) => given === value,
  allowed: JSON.stringify(value),
})
export const onlyEmpty: Harmless = {
  isHarmless: (value) => Array.isArray(value) && value.length === 0,
  allowed: 'an empty array',
}

/**
 * Fields that would change the answer and are not served, each with the values that change nothing: to ignore
 * one would answer another question than was asked. Every field of the OpenAI and vLLM interfaces for chat and
 * for legacy completions is either here, or in the body that the operation reads, or changes nothing that the
 * caller could see in the answer.
 */
const UNSERVED: Unserved = {
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
 * Throws an `ApiError` `invalid_request` that names the first field which asks for what is not served; `own` are
 * the operation's own fields.
 */
export function refuseUnserved(body: JsonObject, own: Unserved = {}): void {
  for (const [field, value] of Object.entries(body)) {
    if (value === null) continue
    const table = [own, UNSERVED].find((fields) => Object.hasOwn(fields, field))
    const { isHarmless, allowed, instead } = table?.[field] ?? harmless
    if (isHarmless(value)) continue
    const only = allowed === null ? 'is not served' : `is not served except as ${allowed}`
    const advice = instead === undefined ? '' : `: ${instead}`
    throw new ApiError('invalid_request', `'${field}' ${only}${advice}.`, { param: field })
  }
}

/** A field that is in no table. */
const harmless: Harmless = { isHarmless: () => true, allowed: null }

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

/** A field that an operation supports, unlike the other operations. */
export const supported: UnsupportedField = { isHarmless: () => true, allowed: null }
export const never: UnsupportedField = { isHarmless: () => false, allowed: null }
export const only = (value: unknown): UnsupportedField => ({
  isHarmless: (given) => given === value,
  allowed: JSON.stringify(value),
})
export const onlyEmpty: UnsupportedField = {
  isHarmless: (value) => Array.isArray(value) && value.length === 0,
  allowed: 'an empty array',
}

const onlyEmptyObject: UnsupportedField = {
  isHarmless: (value) => typeof value === 'object' && value !== null && Object.keys(value).length === 0,
  allowed: 'an empty object',
}
const instead = (advice: string): UnsupportedField => ({ ...never, instead: advice })

/**
 * Fields that would change the output and are not supported, each with the values that have no effect. All other values
 * of such a field are rejected, because ignoring them would return a wrong answer. Every other field of the interfaces
 * that are named below is parsed by the operation, or has no visible effect on the answer. Fields without a visible
 * effect are:
 * - hints for caches and schedulers (`prompt_cache_key`, `cache_salt`, `priority`, `prediction`, `speculation`),
 * - labels (`user`, `metadata`, `session_id`),
 * - choices between methods that have the same result (`guided_decoding_backend`),
 * - fields that only accompany a refused field (`route`, `search_options`).
 */
const UNSUPPORTED: UnsupportedFields = {
  // OpenAI.
  n: only(1),
  logprobs: only(false),
  top_logprobs: only(0),
  functions: onlyEmpty,
  function_call: { isHarmless: (value) => value === 'none' || value === 'auto', allowed: '"auto" or "none"' },
  modalities: {
    isHarmless: (value) => Array.isArray(value) && value.every((modality) => modality === 'text'),
    allowed: '["text"]',
  },
  audio: never,
  web_search_options: never,
  suffix: only(''),
  echo: only(false),
  best_of: only(1),

  // vLLM.
  prompt_logprobs: never,
  use_beam_search: only(false),
  length_penalty: only(1),
  stop_token_ids: onlyEmpty,
  include_stop_str_in_output: only(false),
  skip_special_tokens: only(true),
  spaces_between_special_tokens: only(true),
  truncate_prompt_tokens: never,
  bad_words: onlyEmpty,
  allowed_token_ids: never,
  logits_processors: onlyEmpty,
  vllm_xargs: onlyEmptyObject,
  repetition_detection: never,
  return_token_ids: only(false),
  structural_tag: never,
  guided_whitespace_pattern: never,
  add_generation_prompt: only(true),
  add_special_tokens: only(false),
  continue_final_message: only(false),
  chat_template: never,
  documents: onlyEmpty,
  prompt_embeds: never,

  // SGLang and llama.cpp.
  regex: instead('send structured_outputs with regex'),
  ebnf: instead('send structured_outputs with grammar'),
  grammar: instead('send structured_outputs with grammar'),
  json_schema: instead('send response_format with json_schema'),
  no_stop_trim: only(false),
  stop_regex: never,
  min_new_tokens: instead('send min_tokens'),
  custom_logit_processor: never,
  lora_path: never,
  session_params: never,
  separate_reasoning: only(true),
  n_predict: instead('send max_tokens'),
  repeat_penalty: instead('send repetition_penalty'),
  typical_p: only(1),
  mirostat: only(0),
  samplers: never,
  dry_multiplier: only(0),
  xtc_probability: only(0),
  dynatemp_range: only(0),
  top_n_sigma: only(-1),

  // Text Generation Inference and Ollama.
  max_new_tokens: instead('send max_tokens'),
  num_predict: instead('send max_tokens'),
  do_sample: only(true),
  return_full_text: only(false),
  truncate: never,
  watermark: only(false),
  adapter_id: never,
  options: { ...onlyEmptyObject, instead: 'send its fields by the names of this interface' },
  think: instead('send reasoning_effort'),

  // OpenRouter, Together and Fireworks.
  models: { ...onlyEmpty, instead: 'a request has one model, without a fallback' },
  provider: onlyEmptyObject,
  preset: never,
  plugins: onlyEmpty,
  transforms: onlyEmpty,
  top_a: only(0),
  safety_model: never,
  context_length_exceeded_behavior: only('error'),
  prompt_truncate_len: never,
  raw_output: only(false),
  echo_last: only(0),
  reasoning_history: never,

  // Mistral, Qwen, GLM, Groq and xAI.
  safe_prompt: only(false),
  prompt_mode: instead('send reasoning_effort'),
  random_seed: instead('send seed'),
  guardrails: onlyEmpty,
  enable_search: only(false),
  enable_code_interpreter: only(false),
  translation_options: never,
  preserve_thinking: only(false),
  reasoning_format: only('parsed'),
  reasoning_split: only(true),
  search_parameters: never,
  deferred: only(false),
}

/**
 * Throws an `ApiError` `invalid_request` that names the first field with an unsupported value. `own` has the
 * unsupported fields of the calling operation alone. If a field is in `own` and in `UNSUPPORTED`, its entry in `own`
 * counts.
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

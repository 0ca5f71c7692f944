import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'
import { isEmptyList } from './exact-texts.ts'
import { ModelId } from './model-id.ts'

/** The values of a known field, which an operation does not read, that it accepts all the same. */
export type FieldRule = {
  /** Returns true for a value that has no effect on the answer. Any other value is refused. */
  readonly isHarmless: (value: unknown) => boolean
  /** The harmless values, for error messages. Null if there are none. */
  readonly allowed: string | null
  /** An alternative that the error message recommends. */
  readonly instead?: string
}

export type FieldRules = Readonly<Record<string, FieldRule>>

/**
 * All known fields of an operation: `shape` has the fields that the operation reads, and `rules` has the others. The
 * checks of a body, the OpenAPI description and the table of `docs/api.md` are made from it.
 */
export type FieldTable = { readonly shape: z.ZodRawShape; readonly rules: FieldRules }

/** Returns the table of an operation. A rule in `own` replaces the rule that all operations share. */
export function tableOf({ shape }: z.ZodObject, own: FieldRules = {}): FieldTable {
  const rules = Object.entries({ ...RULES, ...own }).filter(([field]) => !Object.hasOwn(shape, field))
  return { shape, rules: Object.fromEntries(rules) }
}

/**
 * Returns the fields of the body that are read. Throws an `ApiError` `invalid_request` that names the first
 * field with an unsupported value. PHP writes an empty object as an empty list, so such a list is replaced by an object
 * in a field that must be an object.
 */
export function checkFields(body: JsonObject, { shape, rules }: FieldTable): JsonObject {
  const read: [string, unknown][] = []
  for (const [field, value] of Object.entries(body)) {
    const rule = Object.hasOwn(rules, field) ? rules[field] : undefined
    if (rule !== undefined && value !== null && !rule.isHarmless(value)) refuse(field, rule)
    const schema = Object.hasOwn(shape, field) ? shape[field] : undefined
    if (schema !== undefined) read.push([field, isEmptyList(value) ? toEmpty(schema) : value])
  }
  return Object.fromEntries(read)
}

function toEmpty(schema: z.core.$ZodType): object {
  const accepts = (value: object) => z.safeParse(schema, value).success
  return accepts([]) || !accepts({}) ? [] : {}
}

function refuse(field: string, { allowed, instead }: FieldRule): never {
  const only = allowed === null ? 'is not supported' : `is not supported except as ${allowed}`
  const advice = instead === undefined ? '' : `: ${instead}`
  throw new ApiError('invalid_request', `'${field}' ${only}${advice}.`, { param: field })
}

/** Returns the schema of an operation's body. Two keywords of OpenAPI's extensions name the fields that are not read. */
export function toRequestSchema({ shape, rules }: FieldTable): z.ZodType {
  const [ignored, refused] = [true, false].map((isHint) =>
    Object.keys(rules).filter((field) => (rules[field] === hint) === isHint),
  )
  return z.object({ model: ModelId, ...shape }).meta({ 'x-ignored': ignored, 'x-refused': refused })
}

/** A field that changes no answer of this service, whatever its value. */
export const hint: FieldRule = { isHarmless: () => true, allowed: 'any value' }
const never: FieldRule = { isHarmless: () => false, allowed: null }
const only = (value: unknown): FieldRule => ({
  isHarmless: (given) => given === value,
  allowed: JSON.stringify(value),
})
const oneOf = (...values: readonly string[]): FieldRule => ({
  isHarmless: (given) => typeof given === 'string' && values.includes(given),
  allowed: values.map((value) => JSON.stringify(value)).join(' or '),
})
const onlyEmpty: FieldRule = { isHarmless: isEmptyList, allowed: 'an empty array' }
const onlyEmptyObject: FieldRule = {
  isHarmless: (value) => typeof value === 'object' && value !== null && Object.keys(value).length === 0,
  allowed: 'an empty object',
}
export const instead = (advice: string): FieldRule => ({ ...never, instead: advice })
const stateless = instead('this service keeps no state; send the earlier items in input, or the messages')

/**
 * The known fields of the interfaces that are named below. An operation that reads a field has it in its own schema,
 * which takes precedence. A field that would change the output is refused, because ignoring it would return a wrong
 * answer.
 */
const RULES: FieldRules = {
  // Hints for caches and schedulers, labels, and choices between methods that have the same result.
  ...Object.fromEntries(
    (
      'user metadata session_id safety_identifier store service_tier inference_geo client_metadata request_id ' +
      'prompt_cache_key prompt_cache_retention prompt_cache_options cache_control cache_salt keep_alive priority ' +
      'prediction speculation speed prompt_tokens verbosity stream_options guided_decoding_backend route search_options'
    )
      .split(' ')
      .map((field) => [field, hint]),
  ),

  // The prompt and its settings, by the names of the other interfaces.
  messages: instead('send the conversation in the field of this interface'),
  input: instead('send the conversation in the field of this interface'),
  prompt: instead('send its text in the field of this interface'),
  system: instead('send a message of role system'),
  instructions: instead('send it as system text'),
  tools: onlyEmpty,
  tool_choice: oneOf('auto', 'none', ''),
  parallel_tool_calls: hint,
  include: onlyEmpty,
  previous_response_id: stateless,
  conversation: stateless,
  background: { ...only(false), instead: 'this service keeps no state' },
  max_tool_calls: never,
  moderation: never,
  // A prompt that exceeds the context window is rejected with "auto" as well, so "auto" changes no answer.
  truncation: oneOf('disabled', 'auto'),
  context_management: onlyEmpty,
  mcp_servers: { ...onlyEmpty, instead: 'call the servers yourself, and offer their tools in tools' },
  container: instead('this service runs no code'),
  max_tokens_to_sample: instead('send max_tokens'),

  // OpenAI.
  n: only(1),
  logprobs: only(false),
  top_logprobs: only(0),
  functions: onlyEmpty,
  function_call: oneOf('auto', 'none', ''),
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
  return_tokens_as_token_ids: only(false),
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
  format: { ...only(''), instead: 'send response_format' },
  template: never,
  raw: only(false),

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

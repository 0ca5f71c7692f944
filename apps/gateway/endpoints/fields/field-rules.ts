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
export type FieldTable<Body extends z.ZodObject = z.ZodObject> = {
  readonly body: Body
  readonly shape: z.ZodRawShape
  readonly rules: FieldRules
}

/** Returns the table of an operation. A rule in `own` replaces the rule that all operations share. */
export function tableOf<Body extends z.ZodObject>(body: Body, own: FieldRules = {}): FieldTable<Body> {
  const { shape } = body
  const rules = Object.entries({ ...RULES, ...own }).filter(([field]) => !Object.hasOwn(shape, field))
  return { body, shape, rules: Object.fromEntries(rules) }
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

/** Returns the same rule for all fields of a list. */
const all = (rule: FieldRule, fields: string): FieldRules =>
  Object.fromEntries(fields.split(' ').map((field) => [field, rule]))

/**
 * The known fields of OpenAI, Anthropic, vLLM, SGLang, llama.cpp, Text Generation Inference, Ollama, OpenRouter,
 * Together, Fireworks, Mistral, Qwen, GLM, Groq and xAI. An operation that reads a field has it in its own schema, which
 * takes precedence. A field that would change the output is refused, because ignoring it would return a wrong answer.
 */
const RULES: FieldRules = {
  // Hints for caches and schedulers, labels, and choices between methods that have the same result.
  ...all(
    hint,
    'user metadata session_id safety_identifier store service_tier inference_geo client_metadata ' +
      'request_id prompt_cache_key prompt_cache_retention prompt_cache_options cache_control ' +
      'cache_salt keep_alive priority prediction speculation speed prompt_tokens verbosity ' +
      'stream_options guided_decoding_backend route search_options parallel_tool_calls',
  ),

  ...all(
    never,
    'max_tool_calls moderation audio web_search_options prompt_logprobs truncate_prompt_tokens ' +
      'allowed_token_ids repetition_detection structural_tag guided_whitespace_pattern ' +
      'chat_template prompt_embeds stop_regex custom_logit_processor lora_path session_params ' +
      'samplers truncate adapter_id template preset safety_model prompt_truncate_len ' +
      'reasoning_history translation_options search_parameters',
  ),
  ...all(stateless, 'previous_response_id conversation'),
  ...all(
    onlyEmpty,
    'tools include context_management functions stop_token_ids bad_words logits_processors ' +
      'documents plugins transforms guardrails',
  ),
  ...all(onlyEmptyObject, 'vllm_xargs provider'),
  ...all(
    only(false),
    'logprobs echo use_beam_search include_stop_str_in_output return_token_ids ' +
      'return_tokens_as_token_ids add_special_tokens continue_final_message no_stop_trim ' +
      'return_full_text watermark raw raw_output safe_prompt enable_search enable_code_interpreter ' +
      'preserve_thinking deferred',
  ),
  ...all(
    only(true),
    'skip_special_tokens spaces_between_special_tokens add_generation_prompt separate_reasoning ' +
      'do_sample reasoning_split',
  ),
  ...all(only(0), 'top_logprobs mirostat dry_multiplier xtc_probability dynatemp_range top_a echo_last'),
  ...all(only(1), 'n best_of length_penalty typical_p'),
  ...all(oneOf('auto', 'none', ''), 'tool_choice function_call'),
  ...all(instead('send max_tokens'), 'max_tokens_to_sample n_predict max_new_tokens num_predict'),
  ...all(instead('send structured_outputs with grammar'), 'ebnf grammar'),
  ...all(instead('send reasoning_effort'), 'think prompt_mode'),
  ...all(instead('send the conversation in the field of this interface'), 'messages input'),

  prompt: instead('send its text in the field of this interface'),
  system: instead('send a message of role system'),
  instructions: instead('send it as system text'),
  background: { ...only(false), instead: 'this service keeps no state' },
  // A prompt that exceeds the context window is rejected with "auto" as well, so "auto" changes no answer.
  truncation: oneOf('disabled', 'auto'),
  mcp_servers: { ...onlyEmpty, instead: 'call the servers yourself, and offer their tools in tools' },
  container: instead('this service runs no code'),
  regex: instead('send structured_outputs with regex'),
  json_schema: instead('send response_format with json_schema'),
  min_new_tokens: instead('send min_tokens'),
  repeat_penalty: instead('send repetition_penalty'),
  top_n_sigma: only(-1),
  options: { ...onlyEmptyObject, instead: 'send its fields by the names of this interface' },
  format: { ...only(''), instead: 'send response_format' },
  models: { ...onlyEmpty, instead: 'a request has one model, without a fallback' },
  context_length_exceeded_behavior: only('error'),
  random_seed: instead('send seed'),
  reasoning_format: only('parsed'),
  suffix: only(''),
  modalities: {
    isHarmless: (value) => Array.isArray(value) && value.every((modality) => modality === 'text'),
    allowed: '["text"]',
  },
}

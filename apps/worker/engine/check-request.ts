import { MAX_TOP_LOGPROBS, type Sampling } from '#libs/contracts/generation-request.ts'
import type { EngineModelInfo, EngineRequest } from './engine-client.ts'
import { EngineError } from './engine-error.ts'

/** The numbers of an engine that bound its requests. */
export type EngineLimits = Pick<EngineModelInfo, 'maxContextLength' | 'vocabularySize'>

/**
 * Refuses requests that the engine would refuse, would misread, or would die of. Not every servicer checks what it
 * passes on: an engine core ends, with all of its streams, if an id is beyond its vocabulary or a number is out of
 * range. Throws an EngineError of kind `refused` with vLLM's words, as recorded from its refusals. `limits` is null
 * until the engine has reported them; then ids and lengths are checked only against the wire's types.
 */
export function checkRequest(request: EngineRequest, limits: EngineLimits | null = null): void {
  for (const check of Object.values(REQUEST)) check(request, limits)
  for (const check of Object.values(SAMPLING)) check(request.sampling, limits)
}

/** Refuses a prompt as `checkRequest` does. `outputTokens` is the room that the prompt must leave for the output. */
export function checkPrompt(ids: Uint32Array, limits: EngineLimits | null, outputTokens: 0 | 1): void {
  if (ids.length === 0) refuse('The decoder prompt cannot be empty')
  if (limits === null) return
  const { maxContextLength, vocabularySize } = limits
  if (ids.length + outputTokens > maxContextLength) {
    refuse(
      `The decoder prompt (length ${ids.length}) is longer than the maximum model length of ${maxContextLength}.`,
    )
  }
  const outside = ids.find((id) => id >= vocabularySize)
  if (outside !== undefined) refuse(`Token id ${outside} is out of vocabulary`)
}

type Checks<Fields> = Readonly<
  Record<keyof Required<Fields>, (fields: Fields, limits: EngineLimits | null) => void>
>

const MAX_INT32 = 2 ** 31 - 1
const MAX_UINT32 = 2 ** 32 - 1
const MAX_FLOAT32 = 3.4e38
/** No value of the field's type can harm an engine. */
const harmless = () => undefined

/** Every field of a request, with its check: the compiler requires an entry for each field. */
const REQUEST: Checks<EngineRequest> = {
  requestId: harmless,
  promptIds: ({ promptIds }, limits) => checkPrompt(promptIds, limits, 1),
  // See SAMPLING.
  sampling: harmless,
  maxTokens: ({ maxTokens }) => whole('max_tokens', maxTokens, [1, MAX_UINT32]),
  minTokens({ minTokens, maxTokens }) {
    whole('min_tokens', minTokens, [0, MAX_UINT32])
    if (minTokens === undefined || minTokens <= maxTokens) return
    refuse(`min_tokens must be less than or equal to max_tokens=${maxTokens}, got ${minTokens}.`)
  },
  ignoreEos: harmless,
  endIds: ({ endIds }, limits) => inVocabulary('stop_token_ids', endIds, limits),
  stop({ stop }) {
    if (stop.includes('')) refuse('stop cannot contain an empty string.')
  },
  // Its texts are bounded where the caller's body is parsed. A grammar that does not compile ends only its own call.
  constraint: harmless,
  topLogprobs: ({ topLogprobs }) => whole('logprobs', topLogprobs, [0, MAX_TOP_LOGPROBS]),
  promptLogprobs: ({ promptLogprobs }) => whole('prompt_logprobs', promptLogprobs, [0, MAX_TOP_LOGPROBS]),
  cacheSalt: harmless,
}

const SAMPLING: Checks<Sampling> = {
  temperature: ({ temperature }) => within('temperature', temperature, [0, 2]),
  topP: ({ topP }) => positive('top_p', topP, 1),
  topK: ({ topK }) => whole('top_k', topK, [-1, MAX_INT32]),
  minP: ({ minP }) => within('min_p', minP, [0, 1]),
  frequencyPenalty: ({ frequencyPenalty }) => within('frequency_penalty', frequencyPenalty, [-2, 2]),
  presencePenalty: ({ presencePenalty }) => within('presence_penalty', presencePenalty, [-2, 2]),
  repetitionPenalty: ({ repetitionPenalty }) =>
    positive('repetition_penalty', repetitionPenalty, MAX_FLOAT32),
  seed: ({ seed }) => whole('seed', seed, [0, MAX_INT32]),
  logitBias({ logitBias = {} }, limits) {
    const names = Object.keys(logitBias)
    const unreadable = names.find((name) => !/^\d{1,10}$/.test(name))
    if (unreadable !== undefined) refuse(`logit_bias names ${unreadable}, which is no token id`)
    inVocabulary('logit_bias', names.map(Number), limits)
    for (const [name, bias] of Object.entries(logitBias)) {
      within(`logit_bias of token ${name}`, bias, [-MAX_FLOAT32, MAX_FLOAT32])
    }
  },
}

function inVocabulary(field: string, ids: readonly number[], limits: EngineLimits | null): void {
  const size = limits?.vocabularySize ?? MAX_INT32 + 1
  const outside = ids.filter((id) => !Number.isInteger(id) || id < 0 || id >= size)
  if (outside.length === 0) return
  refuse(
    `token_id(s) [${outside.join(', ')}] in ${field} contain out-of-vocab token ids. Vocabulary size: ${size}`,
  )
}

function within(field: string, value: number | undefined, [min, max]: readonly [number, number]): void {
  if (value === undefined || (value >= min && value <= max)) return
  refuse(`${field} must be in [${min}, ${max}], got ${value}.`)
}

function whole(field: string, value: number | undefined, range: readonly [number, number]): void {
  if (value !== undefined && !Number.isInteger(value)) {
    refuse(`${field} must be a whole number, got ${value}.`)
  }
  within(field, value, range)
}

/** On the wire a 0 is an absent value, and a number too small for a 32-bit float becomes 0. */
function positive(field: string, value: number | undefined, max: number): void {
  if (value === undefined || (Math.fround(value) > 0 && value <= max)) return
  refuse(`${field} must be in (0, ${max}], got ${value}.`)
}

function refuse(message: string): never {
  throw new EngineError('refused', message)
}

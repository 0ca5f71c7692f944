import type { GenerateRequest__Output } from '#proto/types/vllm/grpc/engine/GenerateRequest.ts'
import type { SamplingParams__Output } from '#proto/types/vllm/grpc/engine/SamplingParams.ts'
import type { Constraint } from '../constraints/constraint.ts'
import { CompileError } from '../constraints/compile-error.ts'
import { ConstraintError } from '../constraints/constraint-error.ts'
import { parseConstraint } from '../constraints/parse-constraint.ts'
import type { SamplingSettings } from '../sampling/sampler.ts'
import type { ServicerTraits } from '../servicer-version.ts'
import { InvalidRequest, UnexpectedFailure } from './statuses.ts'

/** A Generate request that the engine accepts, with vLLM's meaning of absent fields. */
export type GenerateOrder = {
  /** `uncompilable`: the call is accepted, and ends without a token. */
  readonly constraint: Constraint | 'uncompilable' | null
  readonly settings: SamplingSettings
}

/**
 * Checks a request without its prompt. The errors have vLLM's messages (recorded from 0.32.0). Throws an InvalidRequest
 * if the engine refuses the request, and an UnexpectedFailure if the code of vLLM 0.26 fails on it, or the servicer in
 * Rust does not pass the reason on.
 */
export function validateGenerate(
  request: GenerateRequest__Output,
  { vocabularySize, traits }: { vocabularySize: number; traits: ServicerTraits },
): GenerateOrder {
  checkRouting(request)
  const params = request.samplingParams
  if (params === null) return DEFAULT_ORDER
  refuseUnsupported(params)
  const settings = toSettings(params)
  checkRanges(params, settings)
  checkLogprobs({ name: 'logprobs', label: 'sample logprobs' }, params.logprobs, vocabularySize)
  checkLogprobs({ name: 'prompt_logprobs', label: 'prompt logprobs' }, params.promptLogprobs, vocabularySize)
  checkIds('logit_bias', Object.keys(params.logitBias).map(Number), vocabularySize)
  // vLLM 0.26 does not check stop token ids, and the servicer in Rust passes them on. A core reads them if they must
  // not end the output yet.
  const readsStops = traits.vllmVersion !== '0.26.0' && !(traits.isRust && params.minTokens === 0)
  if (readsStops) checkIds('stop_token_ids', params.stopTokenIds, vocabularySize)
  return { settings, constraint: constraintOf(params, traits) }
}

/** vLLM makes several outputs of one call; the worker sends a call for each, so the simulator does not. */
function refuseUnsupported({ n }: SamplingParams__Output): void {
  if (n > 1) refuse('n > 1 is not supported by this engine')
}

/**
 * Throws an InvalidRequest unless the prompt and `outputTokens` fit the context, and the prompt's ids are in the
 * vocabulary.
 */
export function validatePrompt(
  ids: ArrayLike<number>,
  limits: { maxModelLen: number; vocabularySize: number; outputTokens: number },
): void {
  const { maxModelLen, vocabularySize, outputTokens } = limits
  if (ids.length === 0) refuse('The decoder prompt cannot be empty', { isFatal: true })
  for (let i = 0; i < ids.length; i++) {
    if ((ids[i] ?? 0) >= vocabularySize) refuse(`Token id ${ids[i]} is out of vocabulary`, { isFatal: true })
  }
  if (ids.length > maxModelLen) {
    refuse(
      `The decoder prompt (length ${ids.length}) is longer than the maximum model length of ${maxModelLen}. ` +
        'Make sure that `max_model_len` is no smaller than the number of text tokens.',
      { isFatal: true },
    )
  }
  if (ids.length + outputTokens > maxModelLen) {
    refuse(
      `The decoder prompt (length ${ids.length}) plus the number of requested output tokens (at least 1) is ` +
        `longer than the maximum model length of ${maxModelLen}. Make sure that \`max_model_len\` is no ` +
        'smaller than the number of text tokens (prompt + requested output tokens).',
      { isFatal: true },
    )
  }
}

/** Below this temperature vLLM samples greedily. */
const GREEDY_BELOW = 1e-5

const DEFAULT_ORDER: GenerateOrder = {
  constraint: null,
  settings: {
    greedy: false,
    seed: 0,
    maxTokens: null,
    minTokens: 0,
    ignoreEos: false,
    stop: [],
    stopTokenIds: [],
    skipSpecialTokens: false,
    logitBias: new Map(),
    topLogprobs: null,
    promptLogprobs: null,
  },
}

function toSettings(params: SamplingParams__Output): SamplingSettings {
  const greedy = (params.temperature ?? 1) < GREEDY_BELOW
  return {
    greedy,
    seed: greedy ? 0 : (params.seed ?? 0),
    maxTokens: params.maxTokens ?? null,
    minTokens: params.minTokens,
    ignoreEos: params.ignoreEos,
    stop: params.stop,
    stopTokenIds: params.stopTokenIds,
    skipSpecialTokens: params.skipSpecialTokens,
    logitBias: new Map(Object.entries(params.logitBias).map(([id, value]) => [Number(id), value])),
    topLogprobs: params.logprobs ?? null,
    promptLogprobs: params.promptLogprobs ?? null,
  }
}

function checkRouting({ dataParallelRank, kvTransferParamsJson }: GenerateRequest__Output): void {
  if (dataParallelRank !== undefined && dataParallelRank !== 0) {
    refuse(`data_parallel_rank ${dataParallelRank} is out of range [0, 1).`)
  }
  if (kvTransferParamsJson === undefined) return
  try {
    JSON.parse(kvTransferParamsJson)
  } catch (error) {
    throw new InvalidRequest(`Invalid kv_transfer_params_json: ${String(error)}`, {
      cause: error,
      by: 'servicer',
    })
  }
}

function checkRanges(params: SamplingParams__Output, settings: SamplingSettings): void {
  const temperature = params.temperature ?? 1
  const got = toPython(temperature)
  const named = ` (parameter=temperature, value=${got})`
  if (!Number.isFinite(temperature)) refuse(`temperature must be a finite number, got ${got}.${named}`)
  if (temperature < 0) refuse(`temperature must be non-negative, got ${got}.${named}`)
  if (temperature > 2) refuse(`temperature must be in [0, 2], got ${got}.${named}`, { isFatal: true })
  for (const [name, value] of [
    ['presence_penalty', params.presencePenalty],
    ['frequency_penalty', params.frequencyPenalty],
  ] as const) {
    if (!within(value, -2, 2)) refuse(`${name} must be in [-2, 2], got ${toPython(value)}.`)
  }
  if (!(params.repetitionPenalty >= 0)) {
    refuse(`repetition_penalty must be greater than zero, got ${toPython(params.repetitionPenalty)}.`)
  }
  const topP = toPython(params.topP)
  // 0 stands for an absent value on the wire.
  if (!within(params.topP, 0, 1))
    refuse(`top_p must be in (0, 1], got ${topP}. (parameter=top_p, value=${topP})`)
  if (!within(params.minP, 0, 1)) refuse(`min_p must be in [0, 1], got ${toPython(params.minP)}.`)
  if (settings.maxTokens === 0)
    refuse('max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)')
  if (settings.maxTokens !== null && settings.minTokens > settings.maxTokens) {
    refuse(
      `min_tokens must be less than or equal to max_tokens=${settings.maxTokens}, got ${settings.minTokens}.`,
    )
  }
  if (settings.stop.includes('')) refuse('stop cannot contain an empty string.')
}

/** -1 stands for the whole vocabulary. */
function checkLogprobs(
  { name, label }: { name: string; label: string },
  given: number | undefined,
  vocabularySize: number,
): void {
  const asked = given ?? 0
  if (asked < -1)
    refuse(`${name} must be non-negative or -1, got ${asked}. (parameter=${name}, value=${asked})`)
  const count = asked === -1 ? vocabularySize : asked
  if (count > MAX_LOGPROBS) {
    refuse(
      `Requested ${label} of ${count}, which is greater than max allowed: ${MAX_LOGPROBS} ` +
        `(parameter=${name}, value=${count})`,
    )
  }
}

/** vLLM's default of `--max-logprobs`. */
const MAX_LOGPROBS = 20

function within(value: number, low: number, high: number): boolean {
  return value >= low && value <= high
}

/** A float as Python prints it. */
function toPython(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  return Number.isInteger(value) ? value.toFixed(1) : String(value)
}

function checkIds(name: string, ids: readonly number[], vocabularySize: number): void {
  const outside = ids.filter((id) => id < 0 || id >= vocabularySize)
  if (outside.length === 0) return
  const list = `[${outside.join(', ')}]`
  refuse(
    `token_id(s) ${list} in ${name} contain out-of-vocab token ids. Vocabulary size: ${vocabularySize} ` +
      `(parameter=${name}, value=${list})`,
    { isFatal: true },
  )
}

function constraintOf(params: SamplingParams__Output, traits: ServicerTraits): GenerateOrder['constraint'] {
  try {
    if (traits.vllmVersion === '0.26.0' && looksAround(params.jsonSchema ?? '')) return 'uncompilable'
    return parseConstraint(params)
  } catch (error) {
    if (error instanceof CompileError) return 'uncompilable'
    if (error instanceof ConstraintError) {
      const isOld = traits.vllmVersion === '0.26.0' && params.constraint === 'structuralTag'
      const isUnexpected = traits.isRust || isOld
      if (isUnexpected) throw new UnexpectedFailure({ cause: error })
      throw new InvalidRequest(error.message, { cause: error })
    }
    throw error
  }
}

/** The grammar library of 0.26 accepts a pattern with a look-around and then fails to compile it. */
function looksAround(schema: string): boolean {
  return /\(\?<?[=!]/u.test(schema)
}

function refuse(message: string, options: { isFatal?: boolean } = {}): never {
  throw new InvalidRequest(message, options)
}

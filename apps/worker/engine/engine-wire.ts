import type { GetLoadsResponse__Output } from '#proto/types/vllm/grpc/engine/GetLoadsResponse.ts'
import type { GenerateRequest } from '#proto/types/vllm/grpc/engine/GenerateRequest.ts'
import type { GetServerInfoResponse__Output } from '#proto/types/vllm/grpc/engine/GetServerInfoResponse.ts'
import type { MultimodalInputs } from '#proto/types/vllm/grpc/engine/MultimodalInputs.ts'
import type { SamplingParams } from '#proto/types/vllm/grpc/engine/SamplingParams.ts'
import type { CompleteMessage } from './decode-chunk.ts'
import type { AnswerShape, CallsShape, EngineConstraint } from '#libs/dialect/engine-constraint.ts'
import type { JsonSchema } from '#libs/json-schema/json-schema.ts'
import type { EngineEnd, EngineLoad, EngineRequest, EngineServerInfo } from './engine-client.ts'

/**
 * Returns the message for a request, without its prompt; `withPrompt` adds the prompt. In this protocol an absent
 * scalar is zero. vLLM reads 0 as off for top_k, min_p, frequency_penalty and presence_penalty, and as 1 for top_p and
 * repetition_penalty. Source of these rules: SamplingParams of proto/vllm_engine.proto.
 */
export function toGenerateMessage(request: EngineRequest): GenerateRequest {
  return {
    requestId: request.requestId,
    samplingParams: toSamplingMessage(request),
    stream: true,
    ...(request.cacheSalt !== null && { mmInputs: toSaltMessage(request.cacheSalt) }),
  }
}

/**
 * This protocol has no field for vLLM's `cache_salt`, so the salt is sent as the hash of a media input without pixels.
 * Servicers from 0.10.0 on read such a request as text, and cache it separately for each hash. Older servicers ignore
 * the hash.
 */
function toSaltMessage(salt: string): MultimodalInputs {
  return { mmHashes: [salt] }
}

function toSamplingMessage(request: EngineRequest): SamplingParams {
  const { sampling, maxTokens, minTokens = 0, ignoreEos = false, endIds, stop, constraint } = request
  const { topLogprobs, promptLogprobs } = request
  return {
    // The engine's default is 1 as well, but on the wire an absent temperature is the same as 0.
    temperature: sampling.temperature ?? 1,
    topP: sampling.topP ?? 1,
    topK: Math.max(0, sampling.topK ?? 0),
    minP: sampling.minP ?? 0,
    frequencyPenalty: sampling.frequencyPenalty ?? 0,
    presencePenalty: sampling.presencePenalty ?? 0,
    repetitionPenalty: sampling.repetitionPenalty ?? 1,
    maxTokens,
    stop: [...stop],
    stopTokenIds: [...endIds],
    // A stop string may contain special tokens.
    skipSpecialTokens: false,
    ...(minTokens > 0 && { minTokens }),
    ...(ignoreEos && { ignoreEos }),
    ...(topLogprobs !== undefined && { logprobs: topLogprobs }),
    ...(promptLogprobs !== undefined && { promptLogprobs }),
    ...(sampling.seed !== undefined && { seed: sampling.seed }),
    ...(sampling.logitBias !== undefined && { logitBias: sampling.logitBias }),
    ...(constraint !== null && toConstraintMessage(constraint)),
  }
}

/**
 * Every constraint is sent in xgrammar's structural tags, even a plain JSON schema. vLLM keeps the grammar library that
 * it chose for its first constraint. For a bare schema with a keyword unknown to xgrammar, vLLM would choose a library
 * without structural tags, and from then on every forced call on that engine would fail. Forced calls are not sent as
 * `triggered_tags`, the usual format for tools, because this format allows free text around the calls.
 */
function toConstraintMessage(constraint: EngineConstraint): Pick<SamplingParams, 'structuralTag'> {
  return { structuralTag: JSON.stringify({ type: 'structural_tag', format: toFormat(constraint) }) }
}

function toFormat(constraint: EngineConstraint): object {
  switch (constraint.type) {
    case 'answer':
      return toAnswerFormat(constraint)
    case 'calls':
      return toCallsFormat(constraint.calls)
    case 'text-with-calls':
      return toTriggeredFormat(constraint)
    case 'calls-or-answer':
      return {
        type: 'or',
        elements: [toAnswerFormat(constraint), toCallsFormat(constraint.calls)],
      }
    case 'after-thinking':
      return {
        type: 'sequence',
        elements: [
          { type: 'tag', ...constraint.thinking, content: { type: 'any_text' } },
          toFormat(constraint.output),
        ],
      }
  }
}

function toAnswerFormat(answer: AnswerShape) {
  const { header } = answer
  const content = 'schema' in answer ? toJsonFormat(answer.schema) : toTextFormat(answer.text)
  return header === undefined
    ? content
    : { type: 'sequence', elements: [{ type: 'const_string', value: header }, content] }
}

function toTextFormat(text: Extract<AnswerShape, { text: object }>['text']) {
  switch (text.type) {
    case 'regex':
    case 'grammar':
      return text
    case 'choice':
      return { type: 'or', elements: text.choices.map((value) => ({ type: 'const_string', value })) }
  }
}

function toJsonFormat(schema: JsonSchema) {
  return { type: 'json_schema', json_schema: schema }
}

function toTriggeredFormat({ trigger, calls }: { readonly trigger: string; readonly calls: CallsShape }) {
  const { section, tags, single } = calls
  return {
    type: 'triggered_tags',
    triggers: [trigger],
    tags: section === null ? tags.map(toTagFormat) : [toCallsFormat(calls)],
    at_least_one: false,
    stop_after_first: single,
  }
}

function toTagFormat({ begin, schema, end }: CallsShape['tags'][number]) {
  return { type: 'tag', begin, content: toJsonFormat(schema), end }
}

function toCallsFormat({ section, tags, separator, single }: CallsShape) {
  const calls = {
    type: 'tags_with_separator',
    tags: tags.map(toTagFormat),
    separator,
    at_least_one: true,
    stop_after_first: single,
  }
  return section === null ? calls : { type: 'tag', begin: section.begin, content: calls, end: section.end }
}

/** `completionTokens` counts the tokens of the whole call; the message has only the count of its last delta. */
export function fromCompleteMessage(message: CompleteMessage, completionTokens: number): EngineEnd {
  return {
    finishReason: toFinishReason(message.finishReason),
    matchedTokenId: message.matchedTokenId,
    matchedStop: message.matchedStop,
    promptTokens: message.promptTokens,
    cachedTokens: message.cachedTokens,
    completionTokens,
  }
}

/** Newer engines have more reasons (`repetition`). They count as `stop`, because the model reached the end. */
function toFinishReason(reason: string): EngineEnd['finishReason'] {
  return reason === 'length' || reason === 'abort' || reason === 'error' ? reason : 'stop'
}

/** Older servicers do not have these fields, which then read as 0 and ''. Only the Rust servicer names its server. */
export function fromServerInfoMessage(
  message: Pick<GetServerInfoResponse__Output, 'maxNumSeqs' | 'constrainedDecodingStart' | 'serverType'>,
): EngineServerInfo {
  const { maxNumSeqs, constrainedDecodingStart: start, serverType } = message
  return {
    servicer: serverType !== '' ? 'rust' : maxNumSeqs > 0 ? 'python' : 'older-python',
    maxNumSeqs: maxNumSeqs > 0 ? maxNumSeqs : null,
    constraintStart:
      start === 'first_token' ? 'first-token' : start === 'after_reasoning' ? 'after-reasoning' : null,
  }
}

/** The servicer leaves out ranks whose load it does not know. If a rank is missing, the KV cache fields are null. */
export function fromLoadsMessage({
  loads,
  dpRankCount,
  version,
}: Pick<GetLoadsResponse__Output, 'loads' | 'dpRankCount' | 'version'>): EngineLoad {
  const isWhole = loads.length > 0 && loads.length >= dpRankCount
  const sum = (field: 'numRunningReqs' | 'numWaitingReqs' | 'numUsedTokens' | 'maxTotalNumTokens') =>
    loads.reduce((total, load) => total + load[field], 0)
  // Servicers before 0.14 report the used share of the KV cache, but not its tokens.
  const hasTokens = isWhole && loads.every(({ maxTotalNumTokens }) => maxTotalNumTokens > 0)
  const usage = loads.reduce((total, { tokenUsage }) => total + tokenUsage, 0) / loads.length
  return {
    running: sum('numRunningReqs'),
    waiting: sum('numWaitingReqs'),
    kvUsage: isWhole ? usage : null,
    kvUsedTokens: hasTokens ? sum('numUsedTokens') : null,
    kvCapacityTokens: hasTokens ? sum('maxTotalNumTokens') : null,
    version: version === '' ? null : version,
  }
}

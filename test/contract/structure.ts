import { z } from 'zod'
import type { GenerateResponse__Output } from '#proto/types/vllm/grpc/engine/GenerateResponse.ts'
import type { InputLogProbs__Output } from '#proto/types/vllm/grpc/engine/InputLogProbs.ts'
import type { OutputLogProbs__Output } from '#proto/types/vllm/grpc/engine/OutputLogProbs.ts'
import type { Recording } from './recordings.ts'

/** One message of a Generate stream, from the wire or from a recording. */
export type EngineResponse = {
  readonly type: 'chunk' | 'complete' | 'omitted'
  readonly index: number
  readonly ids: readonly number[]
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly finishReason: string | null
  readonly matchedTokenId: number | null
  readonly matchedStop: string | null
  readonly logprobs: Logprobs | null
  readonly promptLogprobs: PromptLogprobs | null
}

/** The token of each log probability, and the tokens beside it. */
type Logprobs = { readonly ids: readonly number[]; readonly tops: readonly (readonly number[])[] }

/** The tokens of a prompt. `known` says of each whether it has a log probability; `tops` are the tokens beside it. */
type PromptLogprobs = Logprobs & { readonly known: readonly boolean[] }

/** The parts of an answer that must be equal in a recording and in the simulator. Sampled ids are not included. */
export type Structure = {
  readonly streamed: boolean
  readonly choices: readonly ChoiceStructure[]
}

type ChoiceStructure = {
  readonly index: number
  readonly finishReason: string | null
  readonly matchedTokenId: number | null
  readonly matchedStop: string | null
  readonly promptTokens: readonly number[]
  readonly cachedTokens: readonly number[]
  readonly tokens: number
  readonly countsAreDeltas: boolean
  /** True if the Complete message follows the choice's last chunk directly and repeats it; null without chunks. */
  readonly completeRepeatsLastChunk: boolean | null
  readonly emptyChunks: number
  /** The different shapes of log probabilities; empty if there are none. */
  readonly logprobs: readonly string[]
  /** The messages that have the log probabilities of the prompt, with their shape. */
  readonly promptLogprobs: readonly string[]
}

export function toStructure(
  responses: readonly EngineResponse[],
  tokenCounts?: Readonly<Record<string, number>>,
): Structure {
  const indexes = Array.from(new Set(responses.filter(isShown).map((response) => response.index))).sort(
    (a, b) => a - b,
  )
  return {
    streamed: responses.some((response) => response.type === 'chunk'),
    choices: indexes.map((index) => ({ ...toChoice(responses, index), ...countOf(tokenCounts, index) })),
  }
}

function countOf(tokenCounts: Readonly<Record<string, number>> | undefined, index: number) {
  const tokens = tokenCounts?.[String(index)]
  return tokens === undefined ? {} : { tokens }
}

function isShown(response: EngineResponse): boolean {
  return response.type !== 'omitted'
}

function toChoice(responses: readonly EngineResponse[], index: number): ChoiceStructure {
  const own = responses.filter((response) => isShown(response) && response.index === index)
  const chunks = own.filter((response) => response.type === 'chunk')
  const complete = own.find((response) => response.type === 'complete')
  const last = chunks.at(-1)
  const follows = complete === undefined ? null : responses[responses.indexOf(complete) - 1] === last
  const repeats = complete !== undefined && last !== undefined && sameIds(complete.ids, last.ids)
  const tokens = (chunks.length > 0 ? chunks : own).reduce((sum, response) => sum + response.ids.length, 0)
  return {
    index,
    finishReason: complete?.finishReason ?? null,
    matchedTokenId: complete?.matchedTokenId ?? null,
    matchedStop: complete?.matchedStop ?? null,
    promptTokens: distinct(own.map((response) => response.promptTokens)),
    cachedTokens: distinct(own.map((response) => response.cachedTokens)),
    tokens,
    countsAreDeltas: own.every((response) => response.completionTokens === response.ids.length),
    completeRepeatsLastChunk:
      chunks.length === 0 || complete === undefined ? null : follows === true && repeats,
    emptyChunks: chunks.filter((chunk) => chunk.ids.length === 0).length,
    logprobs: distinct(own.map(describeLogprobs).filter((shape) => shape !== '')),
    promptLogprobs: own.flatMap(describePrompt),
  }
}

function describePrompt({ type, promptLogprobs: prompt }: EngineResponse, at: number): string[] {
  if (prompt === null) return []
  const { ids, tops, known } = prompt
  const ownFirst = tops.every((top, at) => top.length === 0 || top[0] === ids[at])
  const lengths = tops.map((top) => top.length).join(' ')
  return [
    `${type} ${at}: of ${ids.join(' ')}, known: ${known.join(' ')}, lists of ${lengths}, own id first: ${ownFirst}`,
  ]
}

function describeLogprobs({ ids, logprobs }: EngineResponse): string {
  if (logprobs === null) return ''
  const { ids: described, tops } = logprobs
  const counts = distinct(tops.map((top) => top.length)).join(' or ')
  const ownFirst = tops.every((top, at) => top[0] === ids[at])
  return `of the same ids: ${sameIds(ids, described)}, lists of ${counts}, own id first: ${ownFirst}`
}

function distinct<Value>(values: readonly Value[]): Value[] {
  return Array.from(new Set(values))
}

function sameIds(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i])
}

export function fromWire(message: GenerateResponse__Output): EngineResponse {
  const { chunk, complete } = message
  if (chunk !== null && chunk !== undefined) {
    return {
      ...EMPTY,
      type: 'chunk',
      index: chunk.index,
      ids: chunk.tokenIds,
      promptTokens: chunk.promptTokens,
      completionTokens: chunk.completionTokens,
      cachedTokens: chunk.cachedTokens,
      logprobs: toLogprobs(chunk.outputLogprobs),
      promptLogprobs: toPromptLogprobs(chunk.inputLogprobs),
    }
  }
  if (complete === null || complete === undefined)
    throw new Error('a response with neither chunk nor complete')
  return {
    type: 'complete',
    index: complete.index,
    ids: complete.outputIds,
    promptTokens: complete.promptTokens,
    completionTokens: complete.completionTokens,
    cachedTokens: complete.cachedTokens,
    finishReason: complete.finishReason,
    matchedTokenId: complete.matchedTokenId ?? null,
    matchedStop: complete.matchedStopStr ?? null,
    logprobs: toLogprobs(complete.outputLogprobs),
    promptLogprobs: toPromptLogprobs(complete.inputLogprobs),
  }
}

function toLogprobs(message: OutputLogProbs__Output | null | undefined): Logprobs | null {
  if (message === null || message === undefined) return null
  return { ids: message.tokenIds, tops: message.topLogprobs.map((top) => top.tokenIds) }
}

function toPromptLogprobs(message: InputLogProbs__Output | null | undefined): PromptLogprobs | null {
  if (message === null || message === undefined) return null
  return {
    ids: message.tokenIds,
    tops: message.topLogprobs.map((top) => top.tokenIds),
    known: message.tokenLogprobs.map(({ value }) => value !== undefined),
  }
}

/**
 * Returns the responses of a servicer that counts the tokens of a call, as one that counts those of a chunk would send
 * them. The responses of a choice are returned as they are if a count is neither, or if the Complete message does not
 * repeat all ids.
 */
export function asDeltas(responses: readonly EngineResponse[]): readonly EngineResponse[] {
  const ofCall = new Set(Array.from(new Set(responses.map(({ index }) => index))).filter(countsCall))
  const last = new Map<number, readonly number[]>()
  return responses.map((response) => {
    if (!ofCall.has(response.index)) return response
    const ids = response.type === 'complete' ? (last.get(response.index) ?? response.ids) : response.ids
    last.set(response.index, ids)
    const { logprobs } = response
    const own =
      logprobs === null
        ? null
        : { ids: logprobs.ids.slice(-ids.length), tops: logprobs.tops.slice(-ids.length) }
    return { ...response, ids, completionTokens: ids.length, logprobs: own }
  })

  function countsCall(choice: number): boolean {
    const own = responses.filter(({ index }) => index === choice)
    const ids: number[] = []
    return own.every((response) => {
      if (response.type === 'chunk') ids.push(...response.ids)
      return (
        response.completionTokens === ids.length && (response.type === 'chunk' || sameIds(response.ids, ids))
      )
    })
  }
}

/** Returns the responses without their numbers of tokens, which are chance here. */
export function withoutTokens(responses: readonly EngineResponse[]) {
  return toStructure(responses).choices.map(({ tokens: _tokens, ...choice }) => choice)
}

const EMPTY = { finishReason: null, matchedTokenId: null, matchedStop: null }

export function fromRecording(response: Recording['responses'][number]): EngineResponse {
  const body = response.body ?? {}
  const type = response.type === 'chunk' || response.type === 'complete' ? response.type : 'omitted'
  return {
    type,
    index: numberIn(body, 'index') ?? 0,
    ids: numbersIn(body, type === 'chunk' ? 'token_ids' : 'output_ids'),
    promptTokens: numberIn(body, 'prompt_tokens') ?? 0,
    completionTokens: numberIn(body, 'completion_tokens') ?? 0,
    cachedTokens: numberIn(body, 'cached_tokens') ?? 0,
    finishReason: textIn(body, 'finish_reason'),
    matchedTokenId: numberIn(body, 'matched_token_id'),
    matchedStop: textIn(body, 'matched_stop_str'),
    logprobs: RecordedLogprobs.parse(body['output_logprobs']),
    promptLogprobs: RecordedPrompt.parse(body['input_logprobs']),
  }
}

const Ids = z.array(z.number())
const Recorded = z.object({ token_ids: Ids, top_logprobs: z.array(z.object({ token_ids: Ids })) })
const RecordedPrompt = Recorded.extend({
  token_logprobs: z.array(z.object({ value: z.number().optional() })),
})
  .transform((message): PromptLogprobs => ({
    ids: message.token_ids,
    tops: message.top_logprobs.map((top) => top.token_ids),
    known: message.token_logprobs.map(({ value }) => value !== undefined),
  }))
  .nullable()
  .default(null)
const RecordedLogprobs = Recorded.transform((message): Logprobs => ({
  ids: message.token_ids,
  tops: message.top_logprobs.map((top) => top.token_ids),
}))
  .nullable()
  .default(null)

function numberIn(body: Readonly<Record<string, unknown>>, name: string): number | null {
  const value = body[name]
  return typeof value === 'number' ? value : null
}

function textIn(body: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = body[name]
  return typeof value === 'string' ? value : null
}

function numbersIn(body: Readonly<Record<string, unknown>>, name: string): number[] {
  const value = body[name]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'number') : []
}

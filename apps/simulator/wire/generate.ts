import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ServerWritableStream } from '@grpc/grpc-js'
import type { GenerateRequest__Output } from '#proto/types/vllm/grpc/engine/GenerateRequest.ts'
import type { EngineCore } from '../engine-core.ts'
import type { ScriptWriter } from '../persona/write-script.ts'
import { createSampler, type Finish, type SampledModel, type Sampler } from '../sampling/sampler.ts'
import type { SamplingSettings } from '../sampling/sampler.ts'
import type { Script } from '../sampling/script.ts'
import { inventLogprob, inventPromptLogprobs, type SampledLogprob } from '../sampling/token-logprobs.ts'
import type { Sequence } from '../scheduler/scheduler.ts'
import type { ServicerTraits } from '../servicer-version.ts'
import { createAnswerStream, type AnswerStream, type PromptList } from './answer-stream.ts'
import { createPoisonCheck, type Poison } from './poison-check.ts'
import { CALL_FAILED, ENGINE_DEAD, InvalidRequest, toStatus, type Status } from './statuses.ts'
import { validateGenerate, validatePrompt } from './validate-generate.ts'

export type GenerateCall = ServerWritableStream<GenerateRequest__Output, Buffer>

export type Generation = {
  readonly requestId: string
  /** Ends the stream with status OK and finish reason `abort`, for an Abort call. */
  abort(): void
  /** Ends the stream with a status, for the server's shutdown. */
  fail(status: Status): void
}

/** How a call ends before its sequence does. */
type Ending = 'abort' | 'cancelled' | Status

export type GenerateParts = {
  readonly core: EngineCore
  readonly model: SampledModel
  readonly encode: (text: string) => Promise<Uint32Array>
  readonly writeScript: ScriptWriter
  readonly traits: ServicerTraits
  /** See `streamInterval` of the configuration. */
  readonly streamInterval: number
  /** Each call fails one step after the step that would have ended it. */
  readonly fails: boolean
  readonly faults: () => Poison
}

/**
 * Runs one Generate call. The promise resolves when the call needs nothing more of the engine, and never rejects.
 * `onStart` receives the handle by which the call can be ended from outside.
 */
export async function generate(
  call: GenerateCall,
  parts: GenerateParts,
  onStart: (generation: Generation) => void,
): Promise<void> {
  const { core } = parts
  const { promise: over, resolve: finish } = Promise.withResolvers<void>()
  const state: { answer: AnswerStream | null; sequence: Sequence | null; ending: Ending | null } = {
    answer: null,
    sequence: null,
    ending: null,
  }

  function endWith(ending: Ending): void {
    if (state.ending !== null) return
    state.ending = ending
    if (state.sequence !== null) core.withdraw(state.sequence)
    if (state.answer !== null) close(state.answer, ending)
  }

  function close(answer: AnswerStream, ending: Ending): void {
    if (ending === 'abort') answer.end('abort')
    else if (ending !== 'cancelled') answer.fail(ending)
    finish()
  }

  call.on('cancelled', () => endWith('cancelled'))
  onStart({ requestId: call.request.requestId, abort: () => endWith('abort'), fail: endWith })

  let prepared: Awaited<ReturnType<typeof prepare>>
  try {
    prepared = await prepare(call.request, parts)
  } catch (error) {
    const isFatal = parts.traits.isRust && error instanceof InvalidRequest && error.isFatal
    if (isFatal) core.die()
    call.emit('error', isFatal ? ENGINE_DEAD : toStatus(error, parts.traits))
    return
  }

  const { promptIds, sampler, settings } = prepared
  const spoilsStep = parts.traits.isRust && settings.promptLogprobs !== null
  const answer = createAnswerStream(call, {
    stream: call.request.stream,
    interval: parts.streamInterval,
    countsCall: parts.traits.isRust,
    promptTokens: spoilsStep ? 0 : promptIds.length,
    promptLogprobs: spoilsStep ? null : createInventPrompt(settings, { promptIds, model: parts.model }),
  })
  state.answer = answer
  // The call was ended while it was prepared.
  if (state.ending !== null) return close(answer, state.ending)
  if (sampler === 'uncompilable') return answer.end('error')

  const kills = createPoisonCheck(promptIds, parts)
  const toLogprob = createInventLogprob(settings, { position: promptIds.length, model: parts.model })
  const { sequence, reached } = toSequence(sampler, {
    promptIds,
    cacheSalt: toCacheSalt(call.request, parts.traits),
    // vLLM computes every token of a prompt again whose log probabilities are requested.
    readsPrefixCache: settings.promptLogprobs === null,
    spoilsStep,
    fails: parts.fails,
  })
  state.sequence = sequence
  core.submit(sequence, {
    onOutput({ tokenId, ended, cachedTokens }) {
      if (kills(tokenId)) return core.die()
      if (tokenId !== null) {
        answer.push({ tokenId, cachedTokens, logprob: toLogprob(tokenId), finish: reached() })
      }
      if (!ended) return
      if (parts.fails) return endWith(CALL_FAILED)
      if (tokenId === null) answer.end('error')
      finish()
    },
    onDeath: () => endWith(ENGINE_DEAD),
  })
  await over
}

/** Returns the function that invents the log probability of each next token, or null if none is requested. */
function createInventLogprob(
  { topLogprobs, greedy }: SamplingSettings,
  { position, model }: { position: number; model: SampledModel },
): (tokenId: number) => SampledLogprob | null {
  if (topLogprobs === null) return () => null
  const { vocabularySize } = model
  let next = position
  return (tokenId) => inventLogprob(tokenId, { position: next++, count: topLogprobs, greedy, vocabularySize })
}

/** Returns the function that invents the log probabilities of the prompt, or null if none are requested. */
function createInventPrompt(
  { promptLogprobs: count }: SamplingSettings,
  { promptIds, model }: { promptIds: Uint32Array; model: SampledModel },
): (() => PromptList) | null {
  if (count === null) return null
  const { vocabularySize } = model
  return () => ({
    tokenIds: promptIds,
    logprobs: inventPromptLogprobs(promptIds, { count, vocabularySize }),
  })
}

/**
 * Adapts the sampler to the scheduler. `reached` returns how the output finished; null until it has finished. For a
 * call that is to fail, `reached` always returns null.
 */
function toSequence(
  sampler: Sampler,
  {
    promptIds,
    readsPrefixCache,
    spoilsStep,
    cacheSalt,
    fails,
  }: Pick<Sequence, 'cacheSalt' | 'readsPrefixCache'> & {
    spoilsStep: boolean
    promptIds: Uint32Array
    fails: boolean
  },
): { sequence: Sequence; reached: () => Finish | null } {
  let finish: Finish | null = null
  const sequence: Sequence = {
    promptIds,
    readsPrefixCache,
    spoilsStep,
    cacheSalt,
    next() {
      if (finish !== null) return { tokenId: null, ended: true }
      const next = sampler.next()
      finish = next.finish
      return { tokenId: next.tokenId, ended: finish !== null && !fails }
    },
  }
  return { sequence, reached: () => (fails ? null : finish) }
}

/**
 * Returns the cache salt that the servicer's `mm_identity_cache_salt` makes from the hashes of a request's media.
 * Returns null if there are no hashes, or for an older servicer, which does not read them.
 */
function toCacheSalt(
  { mmInputs, extraMmInputs }: GenerateRequest__Output,
  { isNewServicer }: ServicerTraits,
): string | null {
  const hashes = [mmInputs, ...extraMmInputs].flatMap((batch) => batch?.mmHashes ?? [])
  return isNewServicer && hashes.length > 0 ? `mm:${hashes.join(',')}` : null
}

/** Throws an InvalidRequest or an UnexpectedFailure. */
async function prepare(
  request: GenerateRequest__Output,
  { model, encode, writeScript, traits }: GenerateParts,
): Promise<{ promptIds: Uint32Array; settings: SamplingSettings; sampler: Sampler | 'uncompilable' }> {
  const isLong = (request.tokenized?.inputIds.length ?? 0) > LONG_PROMPT
  if (isLong) await nextTurn()
  const { settings, constraint } = validateGenerate(request, {
    vocabularySize: model.vocabularySize,
    traits,
  })
  const promptIds =
    request.input === 'text'
      ? await encode(request.text ?? '')
      : Uint32Array.from(request.tokenized?.inputIds ?? [])
  validatePrompt(promptIds, {
    maxModelLen: model.maxModelLen,
    vocabularySize: model.vocabularySize,
    outputTokens: 1,
  })
  if (constraint === 'uncompilable') return { promptIds, settings, sampler: constraint }
  if (isLong) await nextTurn()
  // Seeds may be any 32-bit number; a variant only selects among a few alternatives.
  const variant = settings.greedy ? 0 : Math.abs(settings.seed) % 1_000
  const sample = (script: Script, promptTokens: number, changed: SamplingSettings) =>
    createSampler({ model, settings: changed, script, promptTokens })
  const script = await writeScript({
    promptIds,
    constraint,
    variant,
    replay(wanted, { promptTokens, count }) {
      const sampler = sample(wanted, promptTokens, { ...settings, ...UNENDING })
      return Array.from({ length: count }, () => sampler.next().tokenId ?? -1)
    },
  })
  if (isLong) await nextTurn()
  return { promptIds, settings, sampler: sample(script, promptIds.length, settings) }
}

/**
 * A real engine prepares prompts in other processes. Here, the preparation of a prompt with more tokens than this is
 * split over several iterations of the event loop.
 */
const LONG_PROMPT = 8_192

/** The settings for a replay of earlier output. With these settings no token and no limit ends the replay. */
const UNENDING = { maxTokens: null, minTokens: 0, ignoreEos: true, stop: [], stopTokenIds: [] }

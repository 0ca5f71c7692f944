import type { ServerWritableStream } from '@grpc/grpc-js'
import type { GenerateRequest__Output } from '#proto/types/vllm/grpc/engine/GenerateRequest.ts'
import type { EngineCore } from '../engine-core.ts'
import type { ScriptWriter } from '../persona/write-script.ts'
import type { ProfileTraits } from '../profile.ts'
import { createSampler, type Finish, type SampledModel, type Sampler } from '../sampling/sampler.ts'
import type { Sequence } from '../scheduler/scheduler.ts'
import { createAnswerStream, type AnswerStream } from './answer-stream.ts'
import { CALL_FAILED, ENGINE_DEAD, toStatus, type Status } from './statuses.ts'
import { validateGenerate, validatePrompt, type GenerateOrder } from './validate-generate.ts'

export type GenerateCall = ServerWritableStream<GenerateRequest__Output, Buffer>

export type Generation = {
  readonly requestId: string
  /** The caller's Abort: the stream ends well, with finish reason `abort`. */
  abort(): void
  /** The server's end: the stream ends with a status. */
  fail(status: Status): void
}

/** How a call ends before its sequences do. */
type Ending = 'abort' | 'cancelled' | Status

export type GenerateParts = {
  readonly core: EngineCore
  readonly model: SampledModel
  readonly encode: (text: string) => Promise<Uint32Array>
  readonly writeScript: ScriptWriter
  readonly traits: ProfileTraits
  /** See `streamInterval` of the configuration. */
  readonly streamInterval: number
  /** Each call fails in the step after the one with which it would have ended. */
  readonly fails: boolean
}

/**
 * Runs one Generate call to its end. The promise resolves when the call needs nothing more of the engine;
 * it never rejects. `onStart` gives the handle by which the call can be ended from outside.
 */
export async function generate(
  call: GenerateCall,
  parts: GenerateParts,
  onStart: (generation: Generation) => void,
): Promise<void> {
  const { core } = parts
  const { promise: over, resolve: finish } = Promise.withResolvers<void>()
  const sequences: Sequence[] = []
  const state: { answer: AnswerStream | null; ending: Ending | null } = { answer: null, ending: null }

  function endWith(ending: Ending): void {
    if (state.ending !== null) return
    state.ending = ending
    for (const sequence of sequences) core.withdraw(sequence)
    if (state.answer !== null) close(state.answer, ending)
  }

  function close(answer: AnswerStream, ending: Ending): void {
    if (ending === 'abort') {
      answer.endOpen('abort')
      answer.flush()
    } else if (ending !== 'cancelled') {
      answer.fail(ending)
    }
    finish()
  }

  call.on('cancelled', () => endWith('cancelled'))
  onStart({ requestId: call.request.requestId, abort: () => endWith('abort'), fail: endWith })

  let prepared: Awaited<ReturnType<typeof prepare>>
  try {
    prepared = await prepare(call.request, parts)
  } catch (error) {
    call.emit('error', toStatus(error, parts.traits))
    return
  }

  const { order, promptIds, samplers } = prepared
  const stream = createAnswerStream(call, {
    stream: call.request.stream,
    interval: parts.streamInterval,
    choices: order.choices,
    promptIds,
    logprobs: order.logprobs,
    promptLogprobs: order.promptLogprobs,
    vocabularySize: parts.model.vocabularySize,
  })
  state.answer = stream
  // Ended while it was prepared.
  if (state.ending !== null) {
    close(stream, state.ending)
    return
  }

  if (order.constraint === 'uncompilable') {
    stream.endOpen('error')
    stream.flush()
    return
  }

  let open = order.choices
  for (const [index, sampler] of samplers.entries()) {
    // The model must see every prompt position to give its probability.
    const readsPrefixCache = order.promptLogprobs === null
    const { sequence, reached } = createChoice(sampler, { promptIds, readsPrefixCache, fails: parts.fails })
    sequences.push(sequence)
    core.submit(sequence, {
      onOutput({ tokenId, ended, cachedTokens }) {
        if (ended) open -= 1
        if (tokenId === null) return
        stream.push({ index, tokenId, cachedTokens, finish: reached() })
      },
      onStepEnd() {
        stream.flush()
        if (open > 0) return
        if (parts.fails) endWith(CALL_FAILED)
        else finish()
      },
      onDeath: () => endWith(ENGINE_DEAD),
    })
  }
  await over
}

/** One choice as the scheduler runs it, and the finish that it has reached; a call that fails reaches none. */
function createChoice(
  sampler: Sampler,
  options: { promptIds: Uint32Array; readsPrefixCache: boolean; fails: boolean },
): { sequence: Sequence; reached: () => Finish | null } {
  const { promptIds, readsPrefixCache, fails } = options
  let finish: Finish | null = null
  const sequence: Sequence = {
    promptIds,
    readsPrefixCache,
    next() {
      if (finish !== null) return { tokenId: null, ended: true }
      const next = sampler.next()
      finish = next.finish
      return { tokenId: next.tokenId, ended: finish !== null && !fails }
    },
  }
  return { sequence, reached: () => (fails ? null : finish) }
}

async function prepare(
  request: GenerateRequest__Output,
  { model, encode, writeScript, traits }: GenerateParts,
) {
  const order = validateGenerate(request, { vocabularySize: model.vocabularySize, traits })
  const promptIds =
    request.input === 'text'
      ? await encode(request.text ?? '')
      : Uint32Array.from(request.tokenized?.inputIds ?? [])
  validatePrompt(promptIds, {
    maxModelLen: model.maxModelLen,
    vocabularySize: model.vocabularySize,
    outputTokens: 1,
  })
  const { constraint } = order
  if (constraint === 'uncompilable') return { order, promptIds, samplers: [] }
  const samplers = await Promise.all(
    Array.from({ length: order.choices }, async (_, index) => {
      const seed = order.settings.seed + index
      return createSampler({
        model,
        settings: { ...order.settings, seed },
        script: await writeScript({
          promptIds,
          constraint,
          variant: variantOf(order, seed),
        }),
        promptTokens: promptIds.length,
      })
    }),
  )
  return { order, promptIds, samplers }
}

/** Seeds may be any 32-bit number; a variant only picks among things. */
function variantOf({ settings }: GenerateOrder, seed: number): number {
  return settings.greedy ? 0 : Math.abs(seed) % 1_000
}

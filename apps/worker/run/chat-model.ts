import type { PromptLogprobs } from '#libs/contracts/generation-event.ts'
import type { ChatJob } from '#libs/contracts/generation-job.ts'
import type { ChatMessage, ChatRequest, Sampling } from '#libs/contracts/generation-request.ts'
import { allowsOneCall, callsFormat, constrainOutput } from '#libs/dialect/constrain-output.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import type { EngineConstraint } from '#libs/dialect/engine-constraint.ts'
import { createOutputParser, type OutputParser } from '#libs/dialect/parse-output.ts'
import { startsInReasoning } from '#libs/dialect/reasoning/starts-in-reasoning.ts'
import type { LoadedModel } from '#libs/model-files/load-model.ts'
import type { EngineTokens } from '../engine/engine-client.ts'
import { createOutputLogprobs, type OutputLogprobs } from './logprobs/output-logprobs.ts'
import { describePromptLogprobs } from './logprobs/prompt-logprobs.ts'
import type { RenderedPrompt, RenderPrompt } from '../prompt/render-prompt.ts'

/** The parts of a model that a chat uses. */
export type ChatModel = {
  readonly renderPrompt: RenderPrompt
  /** The model owner's recommendation, for the parameters that the caller leaves open: the engine does not apply it. */
  readonly samplingDefaults: Sampling
  /** The format in which the model writes tool calls. */
  readonly callFormat: ModelFamily['toolCalls']
  /** The tokens that end a turn of the conversation. */
  readonly endIds: readonly number[]
  /** The stop strings at which the engine itself may stop: all if the model writes only the answer, else none. */
  engineStops(request: ChatRequest): readonly string[]
  /** The grammar of the output; null if the output is free. Throws a ConstraintError. */
  constrain(request: ChatRequest): EngineConstraint | null
  /** Creates the parser of one choice's output. */
  createParser(job: ChatJob, prompt: RenderedPrompt, choice: number): OutputParser
  /** Describes the log probabilities of an output that continues after `earlierIds`. */
  describeLogprobs(earlierIds: Uint32Array): OutputLogprobs
  /** Describes the log probabilities of a prompt, which come with the first tokens of an engine's call. */
  describePrompt(tokens: EngineTokens, promptIds: Uint32Array): PromptLogprobs[]
}

export function createChatModel(deps: {
  model: Pick<LoadedModel, 'family' | 'tokenizer' | 'endIds' | 'samplingDefaults'>
  renderPrompt: RenderPrompt
}): ChatModel {
  const { renderPrompt } = deps
  const { family: chatFamily, tokenizer, endIds, samplingDefaults } = deps.model
  // A raw prompt does not put the model into a conversation, so its output is text alone.
  const familyOf = ({ rawPrompt }: ChatRequest): ModelFamily =>
    rawPrompt === undefined ? chatFamily : { ...chatFamily, reasoning: 'none', toolCalls: 'none' }
  return {
    renderPrompt,
    samplingDefaults,
    callFormat: chatFamily.toolCalls,
    endIds: Array.from(endIds),
    engineStops: (request) => (writesAnswerOnly(request, familyOf(request)) ? request.stop : []),
    constrain: (request) => constrainOutput(request, familyOf(request)),
    createParser(job, prompt, choice) {
      const family = familyOf(job.request)
      return createOutputParser({
        // The ids of tool calls are made from it. The calls of all choices have different ids.
        generationId: choice === 0 ? job.id : `${job.id}+${choice}`,
        tokenizer,
        endIds,
        family: { ...family, toolCalls: callsFormat(job.request, family.toolCalls) },
        tools: job.request.toolChoice === 'none' ? [] : job.request.tools,
        singleCall: allowsOneCall(job.request),
        stop: job.request.stop,
        minTokens: job.request.minTokens ?? 0,
        startsInReasoning:
          typeof family.reasoning === 'object' && startsInReasoning(prompt.tail, family.reasoning.open),
        earlierCalls: countCalls(job.request.messages),
      })
    },
    describeLogprobs: (earlierIds) => createOutputLogprobs({ tokenizer, earlierIds }),
    describePrompt: (tokens, promptIds) => describePromptLogprobs(tokens, { tokenizer, promptIds }),
  }
}

/**
 * Returns true if the model writes only an answer. Only then does the engine get the request's stop strings: they are
 * meant for the answer, but an engine compares them with markup, reasoning and calls too.
 */
function writesAnswerOnly({ tools, toolChoice }: ChatRequest, family: ModelFamily): boolean {
  const hasCalls = family.toolCalls !== 'none' && tools.length > 0 && toolChoice !== 'none'
  return family.reasoning === 'none' && !hasCalls
}

function countCalls(messages: readonly ChatMessage[]): number {
  return messages.reduce(
    (sum, message) => sum + (message.role === 'assistant' ? message.toolCalls.length : 0),
    0,
  )
}

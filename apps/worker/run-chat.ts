import type { GenerationError } from '#libs/contracts/generation-event.ts'
import type { ChatJob, Hold } from '#libs/contracts/generation-job.ts'
import { ConstraintError } from '#libs/dialect/constrain-output.ts'
import type { OutputParser } from '#libs/dialect/parse-output.ts'
import { formatCredits, toNanoCredits } from '#libs/money/nano-credits.ts'
import { capOutput } from './cap-output.ts'
import type { ChatModel } from './chat-model.ts'
import type { RunEnding } from './end-run.ts'
import type { EngineClient, EngineRequest } from './engine/engine-client.ts'
import type { RunningGeneration } from './running-generations.ts'
import type { EngineWatch } from './watch-engine.ts'

/**
 * Runs a claimed chat: render → cap → generate → parse → publish. Throws when a step fails, and when the run is stopped
 * before it is complete.
 */
export type RunChat = (run: RunningGeneration, job: ChatJob) => Promise<RunEnding>

export function createRunChat(deps: {
  worker: string
  model: ChatModel
  engine: Pick<EngineClient, 'generate'>
  /** The engine's own limit; the catalog may set less, never more. */
  contextWindow: number
  watch: Pick<EngineWatch, 'tokenSeen'>
}): RunChat {
  const { worker, model, engine, watch } = deps

  return async (run, job) => {
    const contextWindow = Math.min(job.contextWindow, deps.contextWindow)
    const prompt = await model.renderPrompt(job, contextWindow)
    // If the caller has left meanwhile, the generation is settled here: no gateway would receive a decline.
    run.signal.throwIfAborted()

    const promptTokens = prompt.ids.length
    const cap = capOutput(job, promptTokens, contextWindow)
    if (cap.status === 'hold-too-small') return { status: 'declined', reason: cap.status, promptTokens }
    if (cap.status === 'prompt-too-long') return { status: 'refused', error: promptTooLong(contextWindow) }
    if (cap.status === 'insufficient-credits') {
      return { status: 'refused', error: insufficientCredits(job.hold) }
    }

    run.send({ type: 'generation-claimed', worker, promptTokens }, [])
    run.usage.promptTokens = promptTokens
    const parser = model.createParser(job, prompt)
    const finish = await generate(run, parser, {
      requestId: `${job.id}-${run.epoch}`,
      promptIds: prompt.ids,
      sampling: { ...model.samplingDefaults, ...job.request.sampling },
      maxTokens: cap.maxTokens,
      endIds: model.endIds,
      stop: job.request.stop,
      constraint: model.constrain(job.request),
    })
    for (const event of parser.finish()) run.send(event, [])
    run.usage.reasoningTokens = parser.reasoningTokens()
    const isCalling = finish === 'stop' && parser.toolCalls() > 0
    return { status: 'completed', finishReason: isCalling ? 'tool-calls' : finish }
  }

  /** Generates until the engine or the parser ends it, or the deadline, which counts as `length`. */
  async function generate(
    run: RunningGeneration,
    parser: OutputParser,
    request: EngineRequest,
  ): Promise<'stop' | 'length'> {
    try {
      return await publishOutput(run, parser, request)
    } catch (error) {
      if (run.stopReason() === 'deadline') return 'length'
      throw error
    }
  }

  async function publishOutput(
    run: RunningGeneration,
    parser: OutputParser,
    request: EngineRequest,
  ): Promise<'stop' | 'length'> {
    const { usage } = run
    // Ids whose text the parser still buffers (half a character, a possible stop string) travel with the next event.
    let pendingIds: number[] = []
    for await (const output of engine.generate(request, run.signal)) {
      usage.cachedTokens = output.cachedTokens
      if (output.type === 'end') {
        if (output.finishReason === 'stop' || output.finishReason === 'length') return output.finishReason
        // vLLM accepts a request before it compiles the grammar, and ends it like this when that fails.
        if (output.finishReason === 'error' && request.constraint !== null && !run.hasOutput) {
          throw new ConstraintError('the model’s engine cannot constrain the output to this schema')
        }
        throw new Error(`the engine ended the generation with '${output.finishReason}'`)
      }
      watch.tokenSeen()
      run.hasOutput = true
      usage.completionTokens += output.ids.length
      for (const id of output.ids) pendingIds.push(id)
      const { events, stopped } = parser.push(output.ids)
      for (const event of events) {
        run.send(event, pendingIds)
        pendingIds = []
      }
      if (stopped) return 'stop'
    }
    throw new Error('the engine closed the stream without ending the generation')
  }
}

type Refusal = Omit<GenerationError, 'type'>

const promptTooLong = (contextWindow: number): Refusal => ({
  code: 'invalid_request',
  // LangChain recognizes an overflow by the words `exceeds the context window`.
  message: `The prompt exceeds the context window of ${contextWindow} tokens: no token of output fits.`,
})

/** The hold was clamped: its amount is all that the account had left. */
const insufficientCredits = ({ amountNano }: Hold): Refusal => ({
  code: 'insufficient_credits',
  message:
    'Not enough credits for this prompt and one token of output: ' +
    `${formatCredits(toNanoCredits(amountNano))} available beside what other requests hold.`,
})

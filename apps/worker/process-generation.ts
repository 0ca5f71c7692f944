import type { GenerationEnd, GenerationError, Usage } from '#libs/contracts/generation-event.ts'
import type { ChatJob, GenerationJob, GenerationTicket, Hold } from '#libs/contracts/generation-job.ts'
import type { EmbeddingRequest, Sampling } from '#libs/contracts/generation-request.ts'
import { formatCredits, toNanoCredits } from '#libs/money/nano-credits.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { capOutput, coversInput } from './cap-output.ts'
import type { ClaimTicket } from './claim-ticket.ts'
import type { EmbedInputs } from './embedding/embed-inputs.ts'
import type { TokenizeInputs } from './embedding/tokenize-inputs.ts'
import type { EngineClient, EngineRequest } from './engine/engine-client.ts'
import type { EngineWatch } from './watch-engine.ts'
import type { Settle } from './settle.ts'
import { ConstraintError } from '#libs/dialect/constrain-output.ts'
import type { EngineConstraint } from '#libs/dialect/engine-constraint.ts'
import type { OutputParser } from '#libs/dialect/parse-output.ts'
import { toGenerationError } from './to-generation-error.ts'
import type { RenderedPrompt, RenderPrompt } from './prompt/render-prompt.ts'
import type { RunningGeneration } from './running-generations.ts'

/** What became of a ticket: `ran` when the engine generated for it; only then its duration means anything. */
export type ProcessResult = 'ran' | 'not-ran'

/**
 * One generation as the worker sees it: claim → render → cap → generate → parse → publish ‖ settle, or, of an
 * embedding model, claim → tokenize → embed → deliver ‖ settle. Every branch is here; how each step is done is in
 * the file of its name. It rejects only when nobody answered whether the ticket is claimed: what goes wrong
 * afterwards is told to the gateway and settled.
 */
export function createProcessGeneration(deps: {
  claim: ClaimTicket
  engine: Pick<EngineClient, 'generate'>
  renderPrompt: RenderPrompt
  /** The model owner's recommendation, for what the caller leaves open: the engine does not apply it. */
  samplingDefaults: Sampling
  /** Of the tokens that end a turn. */
  endIds: readonly number[]
  /** What the output is held to. Throws a ConstraintError. */
  constrain: (job: ChatJob) => EngineConstraint | null
  createParser: (job: ChatJob, prompt: RenderedPrompt) => OutputParser
  tokenizeInputs: TokenizeInputs
  embedInputs: EmbedInputs
  open: (job: GenerationJob, epoch: number) => RunningGeneration
  settle: Settle
  watch: EngineWatch
  isStopping: () => boolean
  model: string
  worker: string
  /** The engine's own limit; a catalog may promise less, never more. */
  contextWindow: number
  log: Logger
}): (ticket: GenerationTicket) => Promise<ProcessResult> {
  const { engine, renderPrompt, createParser, tokenizeInputs, embedInputs } = deps
  const { open, settle, watch, model, worker, log } = deps

  return async function processGeneration(ticket) {
    const claim = await deps.claim(model, ticket)
    if (claim.status !== 'claimed') return 'not-ran'

    const { job } = claim
    const { request } = job
    const run = open(job, ticket.epoch)
    const work: Work = { run, usage: { ...NO_USAGE }, parser: null, ran: false }
    try {
      if (run.stopReason() !== null) endStopped(work)
      else if (deps.isStopping()) decline(run, 'worker-stopping', 0)
      else if (request.kind === 'chat') await chat(work, { ...job, request })
      else await embed(work, request)
    } catch (error) {
      if (run.stopReason() !== null) endStopped(work)
      else endFailed(work, error)
    } finally {
      run.close()
    }
    return work.ran ? 'ran' : 'not-ran'
  }

  async function chat(work: Work, job: ChatJob): Promise<void> {
    const { run, usage } = work
    const contextWindow = Math.min(job.contextWindow, deps.contextWindow)
    const prompt = await renderPrompt(job, contextWindow)
    // Nobody would hear a decline of a generation whose caller has left: it must be settled here.
    if (run.stopReason() !== null) return endStopped(work)
    const cap = capOutput(job, prompt.ids.length, contextWindow)
    if (cap.status === 'hold-too-small') return decline(run, cap.status, prompt.ids.length)
    if (cap.status === 'prompt-too-long') return fail(work, promptTooLong(contextWindow))
    if (cap.status === 'insufficient-credits') return fail(work, insufficientCredits(job.hold))

    run.send({ type: 'generation-claimed', worker, promptTokens: prompt.ids.length }, [])
    usage.promptTokens = prompt.ids.length
    work.parser = createParser(job, prompt)
    const finish = await generate(work, work.parser, {
      requestId: `${job.id}-${run.epoch}`,
      promptIds: prompt.ids,
      sampling: { ...deps.samplingDefaults, ...job.request.sampling },
      maxTokens: cap.maxTokens,
      endIds: deps.endIds,
      stop: job.request.stop,
      constraint: deps.constrain(job),
    })
    if (finish === 'stopped') endStopped(work)
    else completeChat(work, work.parser, finish)
  }

  /** Each input counts once its vector is there: a caller who leaves midway pays for those. */
  async function embed(work: Work, { inputs }: EmbeddingRequest): Promise<void> {
    const { run, usage } = work
    const contextWindow = Math.min(run.job.contextWindow, deps.contextWindow)
    const prompt = await tokenizeInputs(inputs, { contextWindow, signal: run.signal })
    if (run.stopReason() !== null) return endStopped(work)
    if (prompt.status === 'refused') return fail(work, { code: 'invalid_request', message: prompt.reason })
    if (!coversInput(run.job.hold, prompt.tokens)) return decline(run, 'hold-too-small', prompt.tokens)

    run.send({ type: 'generation-claimed', worker, promptTokens: prompt.tokens }, [])
    await embedInputs(run, prompt.inputs, (tokens) => {
      watch.tokenSeen()
      work.ran = true
      usage.promptTokens += tokens
    })
    if (run.stopReason() === null) complete(work, 'stop')
    else endStopped(work)
  }

  /** Engine → parser → events, until the engine or the parser ends it, or the run is told to stop. */
  async function generate(
    work: Work,
    parser: OutputParser,
    request: EngineRequest,
  ): Promise<'stop' | 'length' | 'stopped'> {
    const { run, usage } = work
    // Ids whose text is still held back (half a character, a possible stop string) ride on the next event.
    let held: number[] = []
    for await (const output of engine.generate(request, run.signal)) {
      usage.cachedTokens = output.cachedTokens
      if (output.type === 'end') {
        if (output.finishReason === 'stop' || output.finishReason === 'length') return output.finishReason
        if (run.stopReason() !== null) return 'stopped'
        // vLLM compiles a grammar after it has accepted the request, and ends it like this when that fails.
        if (output.finishReason === 'error' && request.constraint !== null && !work.ran) {
          throw new ConstraintError('the model’s engine cannot hold the output to this schema')
        }
        throw new Error(`the engine ended the generation with '${output.finishReason}'`)
      }
      watch.tokenSeen()
      work.ran = true
      usage.completionTokens += output.ids.length
      for (const id of output.ids) held.push(id)
      const { events, stopped } = parser.push(output.ids)
      for (const event of events) {
        run.send(event, held)
        held = []
      }
      if (stopped) return 'stop'
    }
    if (run.stopReason() !== null) return 'stopped'
    throw new Error('the engine closed the stream without ending the generation')
  }

  function completeChat(work: Work, parser: OutputParser, finish: 'stop' | 'length'): void {
    for (const event of parser.finish()) work.run.send(event, [])
    work.usage.reasoningTokens = parser.reasoningTokens()
    complete(work, parser.toolCalls() > 0 && finish === 'stop' ? 'tool-calls' : finish)
  }

  function complete({ run, usage }: Work, finishReason: GenerationEnd['finishReason']): void {
    run.send({ type: 'generation-end', finishReason, usage }, [])
    settle.settle(run, { outcome: 'completed', usage })
  }

  /**
   * The run was told to stop: by its deadline (a short answer, or none, which is free), its caller (charged), or by
   * our fault (free).
   */
  function endStopped(work: Work): void {
    const { run, usage, parser } = work
    switch (run.stopReason()) {
      case 'deadline':
        if (parser === null) fail(work, REFUSALS['too-late'])
        else completeChat(work, parser, 'length')
        break
      case 'cancelled':
        settle.settle(run, { outcome: 'cancelled', usage })
        break
      case 'gateway-dead':
        settle.settle(run, { outcome: 'fault', usage })
        break
      case 'worker-stopping':
      case 'engine-lost':
      case null:
        fail(work, REFUSALS['interrupted'])
        break
    }
  }

  /** A step threw. What is the engine's fault counts against it, unless it had begun to answer. */
  function endFailed(work: Work, error: unknown): void {
    const failure = toGenerationError(error)
    if (failure.code === 'upstream_error') {
      log.error({ err: error, generationId: work.run.job.id }, 'generation failed')
      if (!work.ran) watch.failureSeen()
    }
    fail(work, failure)
  }

  function fail({ run, usage }: Work, failure: Failure): void {
    run.send({ type: 'generation-error', ...failure }, [])
    settle.settle(run, { outcome: 'fault', usage })
  }

  /** Gives it back untouched; the gateway queues it again. */
  function decline(
    run: RunningGeneration,
    reason: 'worker-stopping' | 'hold-too-small',
    promptTokens: number,
  ): void {
    run.send({ type: 'generation-declined', reason, promptTokens }, [])
  }
}

/** What one run has come to so far; `ran` once the engine has given anything. */
type Work = {
  readonly run: RunningGeneration
  readonly usage: MutableUsage
  parser: OutputParser | null
  ran: boolean
}

const NO_USAGE: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }

type MutableUsage = { -readonly [Field in keyof Usage]: Usage[Field] }

type Failure = Omit<GenerationError, 'type'>

const REFUSALS = {
  'too-late': {
    code: 'model_unavailable',
    message: 'The deadline passed before there was an answer; nothing is charged.',
  },
  interrupted: {
    code: 'upstream_error',
    message: 'The generation was interrupted; nothing is charged for it.',
  },
} as const satisfies Record<string, Failure>

const promptTooLong = (contextWindow: number): Failure => ({
  code: 'invalid_request',
  // LangChain knows an overflow by the words `exceeds the context window`.
  message: `The prompt exceeds the context window of ${contextWindow} tokens: no token of output fits.`,
})

/** Money had set the hold: it is all that was left. */
const insufficientCredits = ({ amountNano }: Hold): Failure => ({
  code: 'insufficient_credits',
  message:
    'Not enough credits for this prompt and one token of output: ' +
    `${formatCredits(toNanoCredits(amountNano))} available beside what other requests hold.`,
})

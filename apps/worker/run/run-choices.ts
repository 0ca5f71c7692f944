import type { ChatJob } from '#libs/contracts/generation-job.ts'
import type { OutputParser } from '#libs/dialect/parse-output.ts'
import { paidOutput, type OutputFit } from './paid/cap-output.ts'
import type { ChatModel } from './chat-model.ts'
import type { CompletedChoice } from './end-run.ts'
import type { EngineClient, EngineEnd, EngineRequest } from '../engine/engine-client.ts'
import { EngineError } from '../engine/engine-error.ts'
import type { CallMeter } from './measure/measure-calls.ts'
import type { OutputLogprobs } from './logprobs/output-logprobs.ts'
import { createPaidOutput, type PaidOutput, type PassOn } from './paid/paid-output.ts'
import type { Prefills } from './room/prefills.ts'
import type { ChoiceEnding, RunningChoice, RunningGeneration } from './running-generation.ts'
import type { SentPrefixes } from './cached/sent-prefixes.ts'
import { traceCall } from './measure/trace-call.ts'
import type { Quarantine } from './room/quarantine.ts'
import type { EngineWatch } from '../engine-watch/watch-engine.ts'

/** The call of the engine for one choice, and the readers of its output. */
export type ChoiceCall = {
  readonly choice: RunningChoice
  readonly parser: OutputParser
  /** Null if the request asks for no log probabilities. */
  readonly logprobs: OutputLogprobs | null
  readonly request: EngineRequest
  /** True if the output of earlier epochs has the end of the choice, so that the engine is not called. */
  isOver: boolean
}

type Fit = Extract<OutputFit, { readonly status: 'fits' }>
type Ids = readonly number[] | Uint32Array

export type ChoiceDeps = {
  readonly model: ChatModel
  readonly engine: Pick<EngineClient, 'generate'>
  /** The prefixes that were sent to this engine. */
  readonly sentPrefixes: SentPrefixes
  readonly prefills: Pick<Prefills, 'end'>
  readonly quarantine: Pick<Quarantine, 'outputSeen'>
  readonly watch: Pick<EngineWatch, 'tokenSeen'>
  readonly meter: CallMeter
  /** Called when an output was cut because its next tokens were not paid. */
  readonly onMoneyEnd: () => void
}

/**
 * Runs the choices of a generation that have not ended: generate → parse → publish, for all of them at once. Returns the
 * choice that ends last, for `end-run.ts`; the ends of the others are published here. If one choice fails, the calls of
 * the others are stopped and the run fails. Throws if a step fails, or if the run is stopped before it is complete.
 *
 * If the engine has to compute much of the prompt (`leads`), the others follow when the first one has output. Otherwise
 * each call would compute the part of the prompt that no step has computed yet.
 */
export type RunChoices = (
  run: RunningGeneration,
  given: {
    readonly job: ChatJob
    readonly fit: Fit
    readonly calls: readonly ChoiceCall[]
    readonly leads: boolean
  },
) => Promise<CompletedChoice>

export function createRunChoices(deps: ChoiceDeps): RunChoices {
  const { model, engine, sentPrefixes, prefills, quarantine, watch, meter, onMoneyEnd } = deps

  return async (run, { job, fit, calls, leads }) => {
    const failed = new AbortController()
    const signal = calls.length === 1 ? run.signal : AbortSignal.any([run.signal, failed.signal])
    const paid = openPaidOutput(run, job, fit)
    const begun = Promise.withResolvers<void>()
    let open = calls.length
    let last: CompletedChoice | null = null

    async function runOne(call: ChoiceCall, index: number) {
      if (leads && index > 0) await begun.promise
      try {
        const isFirst = index === 0
        const completed = await runChoice({ run, paid, call, signal, isFirst, onOutput: begun.resolve })
        open -= 1
        if (open === 0) last = completed
        else completed.choice.end(completed.events, completed.end)
      } catch (error) {
        failed.abort(error)
      }
      begun.resolve()
    }

    await Promise.all(calls.map(runOne))
    paid.close()
    if (last === null) throw failed.signal.reason
    return last
  }

  async function runChoice(of: Running): Promise<CompletedChoice> {
    const { choice, parser, request, isOver } = of.call
    const isDone = isOver || request.maxTokens === 0
    const finish = isDone ? toEarlierFinish(isOver) : await generate(of)
    const events = parser.finish(finish === 'length')
    const stopString = parser.stopString()
    const end: ChoiceEnding = {
      finishReason: toFinishReason(finish, parser),
      ...(stopString !== null && { stopString }),
      reasoningTokens: parser.reasoningTokens(),
    }
    return { status: 'completed', choice, events, end }
  }

  /**
   * Generates until the engine or the parser ends the output, until the paid tokens are used up, or until the deadline.
   * If the paid tokens are used up, at the deadline, or where a grammar allows no token, the result is `length`.
   */
  async function generate(of: Running): Promise<'stop' | 'length'> {
    const { run, call } = of
    const { choice, request } = call
    run.expectOutput(request.maxTokens)
    const end = meter.begin()
    try {
      const finish = await traceCall(run, { ...call, call: async () => await publishOutput(of) })
      end({ firstMs: choice.firstMs() })
      return finish
    } catch (error) {
      end({ firstMs: choice.firstMs(), error: run.stopReason() ?? error })
      const hasOutput = choice.firstMs() !== null
      const isAnswer = request.promptLogprobs === undefined || hasOutput
      if (run.stopReason() === 'deadline' && isAnswer) return 'length'
      if (run.stopReason() === null && isDeadEnd(error, request)) {
        if (hasOutput) return 'length'
        throw new EngineError('dead-end', 'the grammar allows no first token', error)
      }
      throw error
    }
  }

  async function publishOutput(of: Running): Promise<'stop' | 'length'> {
    const { run, paid, call, signal, isFirst, onOutput } = of
    const { choice, parser, logprobs, request } = call
    const { usage } = run
    // In a later epoch the engine also finds the replayed output in its cache. Replayed output gets no discount, so the
    // cached tokens of such an epoch are not counted. Further choices find the prompt of the first one.
    const countsCached = isFirst && run.earlierTokens === 0
    const prefix = await sentPrefixes.note(request.cacheSalt, request.promptIds)
    const toOwn = (cachedTokens: number) => Math.min(cachedTokens, prefix.knownTokens)
    let stopped = false
    function passOn(ids: Ids): number {
      if (stopped) return 0
      const isBegin = choice.firstMs() === null
      if (isBegin) run.span.event('first-token')
      choice.noteOutput(ids, logprobs?.take(ids))
      prefix.push(ids)
      const parsed = parser.push(ids)
      if (isBegin && countsCached && usage.cachedTokens > 0) {
        // This event is sent with the first token. If the caller leaves early, no end event comes, and the charge is
        // computed from the earlier events.
        parsed.events.unshift({ type: 'prompt-cached', cachedTokens: usage.cachedTokens })
      }
      choice.send(parsed.events)
      stopped = parsed.stopped
      // Its tokens that still wait to be paid are no part of the output.
      if (stopped) paid.leave(passOnPaid, 0)
      return ids.length
    }
    /**
     * Passes tokens with log probabilities on one by one, so that each log probability is sent right before the output
     * that its token completes. This also bounds a group of events, because a log probability may take 1 kB.
     */
    function passOnEach(ids: Ids): number {
      let at = 0
      for (; at < ids.length && !stopped; at += 1) passOn(ids.slice(at, at + 1))
      return at
    }
    const passOnPaid: PassOn = logprobs === null ? passOn : passOnEach
    const isPromptOnly = run.job.maxOutputTokens === 0
    let listsPrompt = request.promptLogprobs !== undefined
    // The run may have been stopped meanwhile, and an aborted signal does not end a call that begins later.
    signal.throwIfAborted()
    let end: EngineEnd | null
    try {
      end = await engine.generate(request, {
        signal,
        onTokens(tokens) {
          const { ids, cachedTokens } = tokens
          if (countsCached) usage.cachedTokens = toOwn(cachedTokens)
          watch.tokenSeen()
          quarantine.outputSeen()
          prefills.end(run)
          onOutput()
          if (listsPrompt) {
            listsPrompt = false
            for (const event of model.describePrompt(tokens, request.promptIds)) choice.send([event])
          }
          if (isPromptOnly) {
            choice.noteOutput([])
            return true
          }
          logprobs?.keep(tokens)
          paid.take(ids, passOnPaid)
          return !stopped && !paid.isCut(passOnPaid)
        },
      })
      if (end !== null && !stopped) await paid.untilPassedOn(passOnPaid, signal)
    } finally {
      paid.leave(passOnPaid, choice.earlierIds.length + request.maxTokens - choice.tokens())
    }
    if (stopped) return 'stop'
    if (paid.isCut(passOnPaid)) {
      onMoneyEnd()
      return 'length'
    }
    if (end === null) throw new EngineError('unavailable', 'the generation was stopped')
    if (countsCached) usage.cachedTokens = toOwn(end.cachedTokens)
    const { finishReason } = end
    if (finishReason === 'stop' || finishReason === 'length') return isPromptOnly ? 'length' : finishReason
    // An engine that shuts down ends its generations with `abort`.
    const kind = finishReason === 'abort' ? 'unavailable' : 'failed'
    throw new EngineError(kind, `the engine ended the generation with '${finishReason}'`)
  }
}

type Running = {
  readonly run: RunningGeneration
  readonly paid: PaidOutput
  readonly call: ChoiceCall
  /** Aborted when the run is stopped, or when another choice has failed. */
  readonly signal: AbortSignal
  /** True for the first of the choices that are run. */
  readonly isFirst: boolean
  /** Called when the engine has given output. */
  readonly onOutput: () => void
}

/**
 * Limits a run's output to the tokens for which its hold pays. The gateway's answers to requests for a larger hold
 * raise the limit.
 */
function openPaidOutput(run: RunningGeneration, { hold, choices = 1 }: ChatJob, fit: Fit): PaidOutput {
  const { mostTokens, paidTokens } = fit
  let { amountNano } = hold
  const paid = createPaidOutput({
    written: run.earlierTokens,
    paidTokens,
    mostTokens,
    choices,
    ask: (moreTokens) => run.send([{ type: 'generation-short', amountNano, moreTokens }]),
  })
  run.onHold = (answered) => {
    // Answers may overtake each other, and a hold only grows.
    if (BigInt(answered.amountNano) > BigInt(amountNano)) ({ amountNano } = answered)
    const tokens = { input: run.usage.promptTokens, limit: mostTokens }
    paid.raise(paidOutput({ ...hold, amountNano }, tokens), answered.isFinal)
  }
  return paid
}

/**
 * Returns why the output ended. If the output ended in the middle of a tool call, the reason is `length`, and the call
 * does not count. If the engine reached the limit of output tokens, the parser may still have found a stop string in
 * the text that was buffered until the end. In this case the reason is not `length`.
 */
function toFinishReason(finish: 'stop' | 'length', parser: OutputParser): ChoiceEnding['finishReason'] {
  if (parser.isCut()) return 'length'
  if (finish === 'length' && !parser.isStopped()) return 'length'
  return parser.toolCalls() > 0 ? 'tool-calls' : 'stop'
}

const toEarlierFinish = (isOver: boolean) => (isOver ? 'stop' : 'length')

/**
 * Returns whether a healthy engine has failed a generation that follows a grammar. vLLM does so where the grammar allows
 * no token, which can be after any output, and for a grammar that it accepted but cannot compile. The caller has written
 * the grammar, so the output until there is charged as the answer; without output, the prompt is charged.
 */
function isDeadEnd(error: unknown, { constraint }: EngineRequest): boolean {
  return constraint !== null && error instanceof EngineError && error.kind === 'failed'
}

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { GenerationEnd } from '#libs/contracts/generation-event.ts'
import type { ChatJob } from '#libs/contracts/generation-job.ts'
import type { Sampling } from '#libs/contracts/generation-request.ts'
import type { OutputParser } from '#libs/dialect/parse-output.ts'
import { replayOutput } from '#libs/dialect/replay-output.ts'
import { traceStep } from '#libs/telemetry/span.ts'
import { fitOutput, paidOutput, type OutputFit } from './cap-output.ts'
import type { ChatModel } from './chat-model.ts'
import type { RunEnding } from './end-run.ts'
import { checkRequest } from '../engine/check-request.ts'
import type { EngineClient, EngineEnd, EngineRequest } from '../engine/engine-client.ts'
import { EngineError } from '../engine/engine-error.ts'
import { toErrorType, type CallMeter } from './measure-calls.ts'
import type { OutputLogprobs } from './output-logprobs.ts'
import { createPaidOutput, type PaidOutput } from './paid-output.ts'
import type { Prefills } from './prefills.ts'
import type { PrefixTenantOf } from './prefix-tenant.ts'
import type { Quarantine } from './quarantine.ts'
import { hasLongList, insufficientCredits, promptListTooLong, promptTooLong } from './refuse-chat.ts'
import type { RunningGeneration } from './running-generation.ts'
import type { SentPrefixes } from './sent-prefixes.ts'
import { traceCall } from './trace-call.ts'
import type { EngineWatch } from '../engine-watch/watch-engine.ts'

/**
 * Runs a claimed chat: render → cap → replay → generate → parse → publish. Throws if a step fails, or if the run is stopped before it is complete.
 *
 * A generation may have begun on another worker. Then the run continues after the token ids that the gateway already
 * has. The parser reads these ids again. The resulting events are dropped, because the gateway already has them: a
 * worker sends token ids in one group with the events that the parser made of them. The engine gets the ids as a part
 * of the prompt.
 */
export type RunChat = (run: RunningGeneration, job: ChatJob) => Promise<RunEnding>

type Fit = Extract<OutputFit, { readonly status: 'fits' }>
type Ids = readonly number[] | Uint32Array
/**
 * The readers of a run's output: its parser, and the reader of its log probabilities. `fit` has the limits of the
 * output: how much the engine may write, and how much is paid.
 */
type Output = {
  readonly parser: OutputParser
  /** Null if the request asks for no log probabilities. */
  readonly logprobs: OutputLogprobs | null
  readonly fit: Fit
}

export function createRunChat(deps: {
  worker: string
  model: ChatModel
  engine: Pick<EngineClient, 'generate'>
  /**
   * The context window of this engine. The catalog's window may be smaller, or larger if other engines have a larger
   * window.
   */
  contextWindow: number
  /** The engine's token ids are below this number. */
  vocabularySize: number
  prefixTenantOf: PrefixTenantOf
  /** The prefixes that were sent to this engine. */
  sentPrefixes: SentPrefixes
  prefills: Pick<Prefills, 'begin' | 'end'>
  quarantine: Pick<Quarantine, 'begin' | 'outputSeen'>
  watch: Pick<EngineWatch, 'tokenSeen'>
  meter: CallMeter
  onReplay: (tokens: number) => void
  /** Called when an output was cut because its next tokens were not paid. */
  onMoneyEnd: () => void
}): RunChat {
  const { worker, model, engine, contextWindow, vocabularySize, prefixTenantOf, sentPrefixes } = deps
  const { prefills, quarantine, watch, meter, onReplay, onMoneyEnd } = deps

  return async (run, job) => {
    try {
      return await runChat(run, job)
    } finally {
      prefills.end(run)
    }
  }

  async function runChat(run: RunningGeneration, job: ChatJob): Promise<RunEnding> {
    const { earlierIds: earlier } = run
    const prompt = await traceStep(run.span, 'render', {
      toErrorType,
      run: async () => await model.renderPrompt(job, job.contextWindow),
    })
    throwIfStopped(run)

    // A prompt can be rendered differently later, for example if it contains the date. So the charge, and the cap of
    // the output (`capOutput`), use the number of prompt tokens that was counted at the first claim.
    const promptTokens = run.firstPromptTokens ?? prompt.ids.length
    const tokens = { prompt: promptTokens, rendered: prompt.ids.length, written: earlier.length }
    const fit = fitOutput(job, tokens, contextWindow)
    if (fit.status !== 'prompt-too-long' && hasLongList(job, promptTokens)) {
      return { status: 'refused', error: promptListTooLong(job, promptTokens) }
    }
    if (fit.status === 'hold-too-small') {
      return { status: 'declined', reason: fit.status, promptTokens, need: '' }
    }
    if (fit.status === 'window-too-small') {
      return { status: 'declined', reason: 'misfit', promptTokens: 0, need: `window:${fit.window}` }
    }
    if (fit.status === 'prompt-too-long') {
      return { status: 'refused', error: promptTooLong(job, promptTokens) }
    }
    if (fit.status === 'insufficient-credits') {
      return { status: 'refused', error: insufficientCredits(job) }
    }

    const constraint = model.constrain(job.request)
    const guided = constraint !== null
    const request = toRequest(run, job, { promptIds: concat(prompt.ids, earlier), constraint, fit })
    const { promptIds, cacheSalt } = request
    // A request that the engine must not get is refused before its prompt is charged.
    if (fit.maxTokens > 0) checkRequest(request, { maxContextLength: contextWindow, vocabularySize })
    // An interrupted generation is not counted: it did not wait, because its caller sees a pause.
    const isNew = earlier.length === 0 && run.firstPromptTokens === null
    prefills.begin(run, isNew ? promptIds.length - (await sentPrefixes.countKnown(cacheSalt, promptIds)) : 0)
    throwIfStopped(run)
    quarantine.begin(run)
    run.claimed({ type: 'generation-claimed', worker, promptTokens, after: earlier.length, guided })
    // The event `generation-claimed` is usually sent together with the first output. It is sent at once in two cases:
    // - The prompt is large. A caller who hangs up pays for the prompt only if the gateway has received the event.
    // - The generation was present at the death of an engine. If this worker dies together with its engine, the gateway
    //   must know that the engine had the generation.
    if (promptTokens > LARGE_PROMPT_TOKENS || run.engineDeaths > 0) run.sendClaim()
    run.usage.promptTokens = promptTokens
    run.usage.completionTokens = earlier.length
    const parser = model.createParser(job, prompt)
    const logprobs = request.topLogprobs === undefined ? null : model.describeLogprobs(earlier)
    const isOver = await replay(run, parser, request.endIds)
    const finish =
      isOver || fit.maxTokens === 0
        ? toEarlierFinish(isOver)
        : await generate(run, { parser, logprobs, fit }, request)
    const events = parser.finish(finish === 'length')
    run.usage.reasoningTokens = parser.reasoningTokens()
    const stopString = parser.stopString()
    return {
      status: 'completed',
      finishReason: toFinishReason(finish, parser),
      ...(stopString !== null && { stopString }),
      events,
    }
  }

  function toRequest(
    { epoch, earlierIds }: RunningGeneration,
    job: ChatJob,
    parts: Pick<EngineRequest, 'promptIds' | 'constraint'> & { fit: Fit },
  ): EngineRequest {
    const { promptIds, constraint, fit } = parts
    const { minTokens = 0, ignoreEos = false, topLogprobs, rawPrompt } = job.request
    // The gateway has the prompt's log probabilities if it has output, because they are sent first.
    const listsPrompt = rawPrompt !== undefined && earlierIds.length === 0
    return {
      requestId: `${job.id}-${epoch}`,
      promptIds,
      sampling: { ...model.samplingDefaults, ...toChoiceSampling(job) },
      maxTokens: fit.maxTokens,
      // The caller's minimum is for the output of all epochs together. It must not exceed the cap.
      minTokens: Math.min(Math.max(0, minTokens - earlierIds.length), fit.maxTokens),
      ignoreEos,
      endIds: ignoreEos ? [] : model.endIds,
      stop: model.engineStops(job.request),
      constraint,
      cacheSalt: prefixTenantOf(job),
      ...(topLogprobs !== undefined && { topLogprobs }),
      ...(topLogprobs !== undefined && listsPrompt && { promptLogprobs: topLogprobs }),
    }
  }

  /**
   * Passes the token ids of earlier epochs to the parser, so that it can continue after them. Returns true if these ids
   * already contain the end of the output.
   */
  async function replay(
    { earlierIds }: RunningGeneration,
    parser: OutputParser,
    endIds: readonly number[],
  ): Promise<boolean> {
    if (earlierIds.length > 0) onReplay(earlierIds.length)
    for (let from = 0; from < earlierIds.length; from += REPLAYED_AT_ONCE) {
      if (from > 0) await nextTurn()
      const ids = earlierIds.subarray(from, from + REPLAYED_AT_ONCE)
      if (replayOutput(parser, { ids, endIds })) return true
    }
    return false
  }

  /**
   * Generates until the engine or the parser ends the output, until the paid tokens are used up, or until the deadline.
   * If the paid tokens are used up, at the deadline, or where a grammar allows no token, the result is `length`.
   */
  async function generate(
    run: RunningGeneration,
    output: Output,
    request: EngineRequest,
  ): Promise<'stop' | 'length'> {
    run.expectOutput(request.maxTokens)
    const end = meter.begin()
    try {
      const finish = await traceCall(run, {
        request,
        call: async () => await publishOutput(run, output, request),
      })
      end({ firstMs: run.output.firstMs })
      return finish
    } catch (error) {
      end({ firstMs: run.output.firstMs, error: run.stopReason() ?? error })
      const isAnswer = request.promptLogprobs === undefined || run.hasOutput()
      if (run.stopReason() === 'deadline' && isAnswer) return 'length'
      if (run.stopReason() === null && isDeadEnd(error, request)) {
        if (run.hasOutput()) return 'length'
        throw new EngineError('dead-end', 'the grammar allows no first token', error)
      }
      throw error
    }
  }

  async function publishOutput(
    run: RunningGeneration,
    { parser, logprobs, fit }: Output,
    request: EngineRequest,
  ): Promise<'stop' | 'length'> {
    const { usage, signal } = run
    // In a later epoch the engine also finds the replayed output in its cache. Replayed output gets no discount, so the
    // cached tokens of such an epoch are not counted.
    const isContinued = run.earlierIds.length > 0
    const prefix = await sentPrefixes.note(request.cacheSalt, request.promptIds)
    const toOwn = (cachedTokens: number) => Math.min(cachedTokens, prefix.knownTokens)
    let stopped = false
    function passOn(ids: Ids) {
      const isFirst = !run.hasOutput()
      if (isFirst) run.span.event('first-token')
      run.noteOutput(ids, logprobs?.take(ids))
      prefix.push(ids)
      usage.completionTokens += ids.length
      const parsed = parser.push(ids)
      if (isFirst && usage.cachedTokens > 0) {
        // This event is sent with the first token. If the caller leaves early, no end event comes, and the charge is
        // computed from the earlier events.
        parsed.events.unshift({ type: 'prompt-cached', cachedTokens: usage.cachedTokens })
      }
      run.send(parsed.events)
      stopped = parsed.stopped
      if (stopped) paid.close()
    }
    /**
     * Passes tokens with log probabilities on one by one, so that each log probability is sent right before the output
     * that its token completes. This also bounds a group of events, because a log probability may take 1 kB.
     */
    function passOnEach(ids: Ids) {
      for (let at = 0; at < ids.length && !stopped; at += 1) passOn(ids.slice(at, at + 1))
    }
    const passOnPaid = logprobs === null ? passOn : passOnEach
    const isPromptOnly = fit.mostTokens === 0
    let listsPrompt = request.promptLogprobs !== undefined
    const paid = openPaidOutput(run, fit, passOnPaid)
    let end: EngineEnd | null
    try {
      end = await engine.generate(request, {
        signal,
        onTokens(tokens) {
          const { ids, cachedTokens } = tokens
          if (!isContinued) usage.cachedTokens = toOwn(cachedTokens)
          watch.tokenSeen()
          quarantine.outputSeen()
          prefills.end(run)
          if (listsPrompt) {
            listsPrompt = false
            for (const event of model.describePrompt(tokens, request.promptIds)) run.send([event])
          }
          if (isPromptOnly) {
            run.noteOutput([])
            return true
          }
          logprobs?.keep(tokens)
          const taken = paid.take(ids)
          if (taken.length > 0) passOnPaid(taken)
          return !stopped && !paid.isOver()
        },
      })
      if (end !== null && !stopped) await paid.untilPassedOn(signal)
    } finally {
      paid.close()
    }
    if (stopped) return 'stop'
    if (paid.isOver()) {
      onMoneyEnd()
      return 'length'
    }
    if (end === null) throw new EngineError('unavailable', 'the generation was stopped')
    if (!isContinued) usage.cachedTokens = toOwn(end.cachedTokens)
    const { finishReason } = end
    if (finishReason === 'stop' || finishReason === 'length') return isPromptOnly ? 'length' : finishReason
    // An engine that shuts down ends its generations with `abort`.
    const kind = finishReason === 'abort' ? 'unavailable' : 'failed'
    throw new EngineError(kind, `the engine ended the generation with '${finishReason}'`)
  }
}

const SEEDS = 2 ** 31

function toChoiceSampling({ request: { sampling }, choice = 0 }: ChatJob): Sampling {
  if (sampling.seed === undefined) return sampling
  return { ...sampling, seed: (sampling.seed + choice) % SEEDS }
}

/**
 * Limits a run's output to the tokens for which its hold pays. The gateway's answers to requests for a larger hold
 * raise the limit.
 */
function openPaidOutput(run: RunningGeneration, fit: Fit, onPaid: (ids: Ids) => void): PaidOutput {
  let { hold } = run.job
  const { mostTokens, paidTokens } = fit
  const paid = createPaidOutput({
    written: run.earlierIds.length,
    paidTokens,
    mostTokens,
    ask: (moreTokens) => run.send([{ type: 'generation-short', amountNano: hold.amountNano, moreTokens }]),
    onPaid,
  })
  run.onHold = (answered) => {
    // Answers may overtake each other, and a hold only grows.
    const { amountNano, share = hold, isFinal } = answered
    const isLarger = BigInt(amountNano) > BigInt(hold.amountNano) || share.outputTokens > hold.outputTokens
    if (isLarger) hold = { ...hold, ...share, amountNano }
    const tokens = { input: run.usage.promptTokens, limit: mostTokens }
    paid.raise(paidOutput(hold, tokens), isFinal)
  }
  return paid
}

/**
 * If a prompt has at most this many tokens, the worker sends `generation-claimed` together with the first output, which
 * saves a message for each generation. So the prefill of such a prompt is free if the caller hangs up before the first
 * output.
 */
const LARGE_PROMPT_TOKENS = 2_048

/** Replaying this many ids takes about 5 ms. Before the next ids are replayed, other streams go on. */
const REPLAYED_AT_ONCE = 2_048

/** Throws if the run is stopped. At the deadline, a run that has output of earlier epochs completes instead. */
function throwIfStopped(run: RunningGeneration): void {
  if (run.stopReason() === 'deadline' && run.earlierIds.length > 0) return
  run.signal.throwIfAborted()
}

/**
 * Returns why the output ended. If the output ended in the middle of a tool call, the reason is `length`, and the call
 * does not count. If the engine reached the limit of output tokens, the parser may still have found a stop string in
 * the text that was buffered until the end. In this case the reason is not `length`.
 */
function toFinishReason(finish: 'stop' | 'length', parser: OutputParser): GenerationEnd['finishReason'] {
  if (parser.isCut()) return 'length'
  if (finish === 'length' && !parser.isStopped()) return 'length'
  return parser.toolCalls() > 0 ? 'tool-calls' : 'stop'
}

const toEarlierFinish = (isOver: boolean) => (isOver ? 'stop' : 'length')

function concat(prompt: Uint32Array, earlier: Uint32Array): Uint32Array {
  if (earlier.length === 0) return prompt
  const ids = new Uint32Array(prompt.length + earlier.length)
  ids.set(prompt)
  ids.set(earlier, prompt.length)
  return ids
}

/**
 * Returns whether a healthy engine has failed a generation that follows a grammar. vLLM does so where the grammar allows
 * no token, which can be after any output, and for a grammar that it accepted but cannot compile. The caller has written
 * the grammar, so the output until there is charged as the answer; without output, the prompt is charged.
 */
function isDeadEnd(error: unknown, { constraint }: EngineRequest): boolean {
  return constraint !== null && error instanceof EngineError && error.kind === 'failed'
}

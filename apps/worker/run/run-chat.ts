import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChatJob } from '#libs/contracts/generation-job.ts'
import type { Sampling } from '#libs/contracts/generation-request.ts'
import { replayOutput } from '#libs/dialect/replay-output.ts'
import { LONG } from '#libs/generation-record/requirements.ts'
import { traceStep } from '#libs/telemetry/span.ts'
import { fitOutput } from './paid/cap-output.ts'
import type { RunEnding } from './end-run.ts'
import { checkRequest } from '../engine/check-request.ts'
import type { EngineRequest } from '../engine/engine-client.ts'
import { toErrorType } from './measure/measure-calls.ts'
import type { Prefills } from './room/prefills.ts'
import type { PrefixTenantOf } from './cached/prefix-tenant.ts'
import type { Quarantine } from './room/quarantine.ts'
import { hasLongList, insufficientCredits, promptListTooLong, promptTooLong } from './refuse-chat.ts'
import { createRunChoices, type ChoiceCall, type ChoiceDeps } from './run-choices.ts'
import type { RunningChoice, RunningGeneration } from './running-generation.ts'

/**
 * Runs a claimed chat: render → cap → replay → generate → parse → publish. Throws if a step fails, or if the run is stopped before it is complete.
 *
 * A request may want several answers. The prompt is rendered once, and the steps from the replay on are done for each of
 * these choices (`run-choices.ts`).
 *
 * A generation may have begun on another worker. Then each choice continues after the token ids that the gateway already
 * has; a choice that has ended is not run again. The parser reads these ids again. The resulting events are dropped,
 * because the gateway already has them: a worker sends token ids in one group with the events that the parser made of
 * them. The engine gets the ids as a part of the prompt.
 */
export type RunChat = (run: RunningGeneration, job: ChatJob) => Promise<RunEnding>

export function createRunChat(
  deps: ChoiceDeps & {
    worker: string
    /**
     * The context window of this engine. The catalog's window may be smaller, or larger if other engines have a larger
     * window.
     */
    contextWindow: number
    /** The engine's token ids are below this number. */
    vocabularySize: number
    prefixTenantOf: PrefixTenantOf
    prefills: Pick<Prefills, 'begin' | 'end'>
    quarantine: Pick<Quarantine, 'begin' | 'outputSeen'>
    onReplay: (tokens: number) => void
  },
): RunChat {
  const { worker, model, contextWindow, vocabularySize, prefixTenantOf, sentPrefixes } = deps
  const { prefills, quarantine, onReplay } = deps
  const runChoices = createRunChoices(deps)

  return async (run, job) => {
    try {
      return await runChat(run, job)
    } finally {
      prefills.end(run)
    }
  }

  async function runChat(run: RunningGeneration, job: ChatJob): Promise<RunEnding> {
    const prompt = await traceStep(run.span, 'render', {
      toErrorType,
      run: async () => await model.renderPrompt(job, job.contextWindow),
    })
    throwIfStopped(run)

    // A prompt can be rendered differently later, for example if it contains the date. So the charge, and the cap of
    // the output (`capOutput`), use the number of prompt tokens that was counted at the first claim.
    const promptTokens = run.firstPromptTokens ?? prompt.ids.length
    const open = run.choices.filter((choice) => !choice.isEnded())
    const written = open.map(({ earlierIds }) => earlierIds.length)
    const ended = run.earlierTokens - written.reduce((sum, tokens) => sum + tokens, 0)
    const tokens = { prompt: promptTokens, rendered: prompt.ids.length, written, ended }
    const fit = fitOutput(job, tokens, contextWindow)
    if (fit.status !== 'prompt-too-long' && hasLongList(job, promptTokens)) {
      return { status: 'refused', error: promptListTooLong(job, promptTokens) }
    }
    if (fit.status === 'hold-too-small') {
      return { status: 'declined', reason: fit.status, promptTokens, requirement: '' }
    }
    if (fit.status === 'window-too-small') {
      return { status: 'declined', reason: 'misfit', promptTokens: 0, requirement: `window:${fit.window}` }
    }
    if (fit.status === 'prompt-too-long') {
      return { status: 'refused', error: promptTooLong(job, promptTokens) }
    }
    if (fit.status === 'insufficient-credits') {
      return { status: 'refused', error: insufficientCredits(job) }
    }

    const constraint = model.constrain(job.request)
    const guided = constraint !== null
    const toCall = (choice: RunningChoice, index: number): ChoiceCall => {
      const maxTokens = fit.maxTokens[index] ?? 0
      const promptIds = concat(prompt.ids, choice.earlierIds)
      return {
        choice,
        parser: model.createParser(job, prompt, choice.number),
        logprobs: job.request.topLogprobs === undefined ? null : model.describeLogprobs(choice.earlierIds),
        request: toRequest(run, choice, { job, promptIds, constraint, maxTokens }),
        isOver: false,
      }
    }
    const calls = open.map(toCall)
    const [first] = calls
    if (first === undefined) throw new Error('all choices have ended')
    // A request that the engine must not get is refused before its prompt is charged.
    for (const { request } of calls) {
      if (request.maxTokens > 0) checkRequest(request, { maxContextLength: contextWindow, vocabularySize })
    }
    const { promptIds, cacheSalt } = first.request
    // An interrupted generation is not counted: it did not wait, because its caller sees a pause.
    const isNew = run.earlierTokens === 0 && run.firstPromptTokens === null
    const known = isNew || calls.length > 1 ? await sentPrefixes.countKnown(cacheSalt, promptIds) : 0
    const computedTokens = promptIds.length - known
    if (!prefills.begin(run, isNew ? computedTokens : 0))
      return { status: 'declined', reason: 'misfit', promptTokens: 0, requirement: LONG }
    throwIfStopped(run)
    quarantine.begin(run)
    run.claimed({ type: 'generation-claimed', worker, promptTokens, after: run.earlierTokens, guided })
    // The event `generation-claimed` is usually sent together with the first output. It is sent at once in two cases:
    // - The prompt is large. A caller who hangs up pays for the prompt only if the gateway has received the event.
    // - The generation was present at the death of an engine. If this worker dies together with its engine, the gateway
    //   must know that the engine had the generation.
    if (promptTokens > LARGE_PROMPT_TOKENS || run.engineDeaths > 0) run.sendClaim()
    run.usage.promptTokens = promptTokens
    for (const call of calls) await replay(call)
    return await runChoices(run, { job, fit, calls, leads: computedTokens > LARGE_PROMPT_TOKENS })
  }

  function toRequest(
    run: RunningGeneration,
    { number, earlierIds }: RunningChoice,
    given: Pick<EngineRequest, 'promptIds' | 'constraint' | 'maxTokens'> & { job: ChatJob },
  ): EngineRequest {
    const { job, promptIds, constraint, maxTokens } = given
    const { minTokens = 0, ignoreEos = false, topLogprobs, rawPrompt } = job.request
    // The gateway has the prompt's log probabilities if it has output, because they are sent first.
    const listsPrompt = rawPrompt !== undefined && earlierIds.length === 0
    return {
      requestId: `${job.id}-${run.epoch}${number === 0 ? '' : `-${number}`}`,
      promptIds,
      sampling: { ...model.samplingDefaults, ...toChoiceSampling(job.request.sampling, number) },
      maxTokens,
      // The caller's minimum is for the output of all epochs together. It must not exceed the cap.
      minTokens: Math.min(Math.max(0, minTokens - earlierIds.length), maxTokens),
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
   * Passes the token ids of earlier epochs to the parser, so that it can continue after them. Notes whether these ids
   * already contain the end of the output.
   */
  async function replay(call: ChoiceCall): Promise<void> {
    const { earlierIds, number } = call.choice
    if (earlierIds.length > 0) onReplay(earlierIds.length)
    for (let from = 0; from < earlierIds.length; from += REPLAYED_AT_ONCE) {
      if (from > 0 || number > 0) await nextTurn()
      const ids = earlierIds.subarray(from, from + REPLAYED_AT_ONCE)
      call.isOver = replayOutput(call.parser, { ids, endIds: call.request.endIds })
      if (call.isOver) return
    }
  }
}

const SEEDS = 2 ** 31

/** With one seed, all choices would be the same. */
function toChoiceSampling(sampling: Sampling, choice: number): Sampling {
  if (sampling.seed === undefined) return sampling
  return { ...sampling, seed: (sampling.seed + choice) % SEEDS }
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
  if (run.stopReason() === 'deadline' && run.earlierTokens > 0) return
  run.signal.throwIfAborted()
}

function concat(prompt: Uint32Array, earlier: Uint32Array): Uint32Array {
  if (earlier.length === 0) return prompt
  const ids = new Uint32Array(prompt.length + earlier.length)
  ids.set(prompt)
  ids.set(earlier, prompt.length)
  return ids
}

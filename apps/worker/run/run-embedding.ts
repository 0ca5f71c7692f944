import type { EmbeddingRequest } from '#libs/contracts/generation-request.ts'
import { traceStep } from '#libs/telemetry/span.ts'
import { coversInput } from './paid/cap-output.ts'
import type { EmbedInputs } from './embedding/embed-inputs.ts'
import type { TokenizeInputs } from './embedding/tokenize-inputs.ts'
import type { RunEnding } from './end-run.ts'
import { toErrorType } from './measure/measure-calls.ts'
import type { RunningGeneration } from './running-generation.ts'
import type { Quarantine } from './room/quarantine.ts'
import type { EngineWatch } from '../engine-watch/watch-engine.ts'

/**
 * Runs a claimed embedding: tokenize → embed → deliver. Throws if a step fails, or if the run is stopped. A later epoch embeds all inputs again; the gateway skips the vectors that it
 * already has.
 */
export type RunEmbedding = (run: RunningGeneration, request: EmbeddingRequest) => Promise<RunEnding>

export function createRunEmbedding(deps: {
  worker: string
  tokenizeInputs: TokenizeInputs
  embedInputs: EmbedInputs
  /** The engine's own limit. The catalog may set less, or more if other engines have a larger window. */
  contextWindow: number
  quarantine: Pick<Quarantine, 'begin' | 'outputSeen'>
  watch: Pick<EngineWatch, 'tokenSeen'>
}): RunEmbedding {
  const { worker, tokenizeInputs, embedInputs, contextWindow, quarantine, watch } = deps

  return async (run, { inputs }) => {
    const { job, signal } = run
    const tokenized = await tokenizeInputs(inputs, { contextWindow: job.contextWindow, signal })
    signal.throwIfAborted()
    if (tokenized.status === 'refused') return tokenized
    const { tokens: promptTokens, longest } = tokenized
    if (!coversInput(job.hold, promptTokens)) {
      return { status: 'declined', reason: 'hold-too-small', promptTokens, requirement: '' }
    }
    if (longest > contextWindow) {
      return { status: 'declined', reason: 'misfit', promptTokens: 0, requirement: `window:${longest}` }
    }

    quarantine.begin(run)
    run.claimed({ type: 'generation-claimed', worker, promptTokens, after: 0, guided: false })
    if (run.engineDeaths > 0) run.sendClaim()
    await traceStep(run.span, `embeddings ${job.model}`, {
      kind: 'CLIENT',
      attributes: {
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.request.model': job.model,
        'gen_ai.usage.input_tokens': promptTokens,
      },
      toErrorType: (error) => toErrorType(run.stopReason() ?? error),
      run: async () =>
        await embedInputs(run, tokenized.inputs, {
          onInput: (tokens) => (run.usage.promptTokens += tokens),
          onVector() {
            watch.tokenSeen()
            run.noteVector()
            quarantine.outputSeen()
          },
        }),
    })
    signal.throwIfAborted()
    const [choice] = run.choices
    return { status: 'completed', choice, events: [], end: { finishReason: 'stop', reasoningTokens: 0 } }
  }
}

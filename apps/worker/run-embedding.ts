import type { EmbeddingRequest } from '#libs/contracts/generation-request.ts'
import { coversInput } from './cap-output.ts'
import type { EmbedInputs } from './embedding/embed-inputs.ts'
import type { TokenizeInputs } from './embedding/tokenize-inputs.ts'
import type { RunEnding } from './end-run.ts'
import type { RunningGeneration } from './running-generations.ts'
import type { EngineWatch } from './watch-engine.ts'

/** Runs a claimed embedding: tokenize → embed → deliver. Throws when a step fails, and when the run is stopped. */
export type RunEmbedding = (run: RunningGeneration, request: EmbeddingRequest) => Promise<RunEnding>

/** Each input counts once its vector is there: a caller that leaves midway pays for those. */
export function createRunEmbedding(deps: {
  worker: string
  tokenizeInputs: TokenizeInputs
  embedInputs: EmbedInputs
  /** The engine's own limit; the catalog may set less, never more. */
  contextWindow: number
  watch: Pick<EngineWatch, 'tokenSeen'>
}): RunEmbedding {
  const { worker, tokenizeInputs, embedInputs, watch } = deps

  return async (run, { inputs }) => {
    const { job, signal } = run
    const contextWindow = Math.min(job.contextWindow, deps.contextWindow)
    const tokenized = await tokenizeInputs(inputs, { contextWindow, signal })
    signal.throwIfAborted()
    if (tokenized.status === 'refused') {
      return { status: 'refused', error: { code: 'invalid_request', message: tokenized.reason } }
    }
    const promptTokens = tokenized.tokens
    if (!coversInput(job.hold, promptTokens)) {
      return { status: 'declined', reason: 'hold-too-small', promptTokens }
    }

    run.send({ type: 'generation-claimed', worker, promptTokens }, [])
    await embedInputs(run, tokenized.inputs, (tokens) => {
      watch.tokenSeen()
      run.hasOutput = true
      run.usage.promptTokens += tokens
    })
    signal.throwIfAborted()
    return { status: 'completed', finishReason: 'stop' }
  }
}

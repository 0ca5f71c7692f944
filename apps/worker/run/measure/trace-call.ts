import { traceStep } from '#libs/telemetry/span.ts'
import type { EngineRequest } from '../../engine/engine-client.ts'
import { toErrorType } from './measure-calls.ts'
import type { RunningChoice, RunningGeneration } from '../running-generation.ts'

/**
 * Traces the engine's call with the attributes of OpenTelemetry's conventions for generative AI. The attributes contain
 * no text of the request or the output.
 */
export async function traceCall(
  run: RunningGeneration,
  of: { request: EngineRequest; choice: RunningChoice; call: () => Promise<'stop' | 'length'> },
): Promise<'stop' | 'length'> {
  const { request, choice, call } = of
  const { model } = run.job
  return await traceStep(run.span, `chat ${model}`, {
    kind: 'CLIENT',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': model,
      'gen_ai.request.max_tokens': request.maxTokens,
      'gen_ai.usage.input_tokens': request.promptIds.length,
    },
    toErrorType: (error) => toErrorType(run.stopReason() ?? error),
    async run(span) {
      const finish = await call()
      span.set({
        'gen_ai.usage.output_tokens': choice.tokens() - choice.earlierIds.length,
        'gen_ai.response.finish_reasons': [finish],
      })
      return finish
    },
  })
}

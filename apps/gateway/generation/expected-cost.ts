import type { Place } from '#libs/generation-record/generation-record.ts'
import type { InputEstimate } from './estimate-input.ts'
import type { ExpectedOutput } from './expected-output.ts'
import type { GenerationCall } from './generation-call.ts'

/**
 * Returns what a generation will probably cost in the fair order of the queue, in tokens: its prompt, its output within
 * the caller's limit, and as the fixed part the time that an engine takes to compile its grammars (`grammarTokens`). An
 * embedding costs its inputs. The prompt is bounded by the context window, because a longer
 * one is refused.
 */
export type ExpectCost = (
  call: Pick<GenerationCall, 'caller' | 'model' | 'request' | 'size' | 'maxOutputTokens'>,
) => Pick<Place, 'cost' | 'fixedCost'>

export function createExpectCost(deps: {
  inputEstimate: Pick<InputEstimate, 'estimate'>
  expectedOutput: Pick<ExpectedOutput, 'expect'>
}): ExpectCost {
  return ({ caller, model, request, size, maxOutputTokens }) => {
    const limit = Math.min(maxOutputTokens ?? Infinity, model.maxOutputTokens)
    const { mean } = deps.expectedOutput.expect(model.id, caller.accountId)
    const windows = request.kind === 'embedding' ? request.inputs.length : 1
    const prompt = Math.min(deps.inputEstimate.estimate(model.id, size), windows * model.contextWindow)
    const output = Math.min(limit, Math.round(mean))
    const fixedCost = size.grammarTokens
    return { cost: prompt + output + fixedCost, fixedCost }
  }
}

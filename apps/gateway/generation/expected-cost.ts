import type { Place } from '#libs/generation-record/generation-record.ts'
import type { InputEstimate } from './estimate-input.ts'
import type { ExpectedOutput } from './expected-output.ts'
import type { GenerationCall } from './generation-call.ts'

/**
 * Returns what a generation will probably cost in the fair order of the queue, in tokens: those of its prompt, those of
 * its output within the caller's limit, and the time that an engine takes to compile its grammars (`grammarTokens`),
 * which is the fixed part. An embedding costs its inputs.
 */
export type ExpectCost = (
  call: Pick<GenerationCall, 'caller' | 'model' | 'size' | 'maxOutputTokens'>,
) => Pick<Place, 'cost' | 'fixedCost'>

export function createExpectCost(deps: {
  inputEstimate: Pick<InputEstimate, 'estimate'>
  expectedOutput: Pick<ExpectedOutput, 'expect'>
}): ExpectCost {
  return ({ caller, model, size, maxOutputTokens }) => {
    const limit = Math.min(maxOutputTokens ?? Infinity, model.maxOutputTokens)
    const { mean } = deps.expectedOutput.expect(model.id, caller.accountId)
    const fixedCost = size.grammarTokens
    const output = Math.min(limit, Math.round(mean))
    return { cost: deps.inputEstimate.estimate(model.id, size) + output + fixedCost, fixedCost }
  }
}

import type { Usage } from '#libs/contracts/generation-event.ts'
import type { GenerationRequest } from '#libs/contracts/generation-request.ts'
import type { Place } from '#libs/generation-record/generation-record.ts'
import type { InputEstimate } from './estimate-input.ts'
import type { ExpectedOutput } from './expected-output.ts'
import type { GenerationCall } from '../request/generation-call.ts'

/**
 * Returns the expected cost of a generation in the fair order of the queue, in tokens. It is the sum of
 * - the estimated tokens of the input. For a prompt, the estimate is at most the context window. For an embedding, it
 *   is at most one context window for each of its inputs. Longer texts are refused;
 * - for each choice, the mean output of the account's answers, at most the limit of the caller and of the model;
 * - the weight of log probabilities (`toListedCost`);
 * - the time that an engine takes to compile the grammars, in tokens (`grammarTokens`). This is `fixedCost`.
 *
 * All choices of a request run on one engine, which computes the prompt and compiles the grammars once.
 */
export type ExpectCost = (
  call: Pick<GenerationCall, 'caller' | 'model' | 'request' | 'size' | 'maxOutputTokens' | 'choices'>,
) => Pick<Place, 'cost' | 'fixedCost'>

export function createExpectCost(deps: {
  inputEstimate: Pick<InputEstimate, 'estimate'>
  expectedOutput: Pick<ExpectedOutput, 'expect'>
}): ExpectCost {
  return ({ caller, model, request, size, maxOutputTokens, choices = 1 }) => {
    const limit = Math.min(maxOutputTokens ?? Infinity, model.maxOutputTokens)
    const { mean } = deps.expectedOutput.expect(model.id, caller.accountId)
    const windows = request.kind === 'embedding' ? request.inputs.length : 1
    const prompt = Math.min(deps.inputEstimate.estimate(model.id, size), windows * model.contextWindow)
    const output = choices * Math.min(limit, Math.round(mean))
    const fixedCost = size.grammarTokens
    const listed = toListedCost(request, { promptTokens: prompt, completionTokens: output }) ?? 0
    return { cost: prompt + output + listed + fixedCost, fixedCost }
  }
}

/**
 * So many listed tokens cost as much as one token. A streamed token with 20 listed ones has eight times the bytes of a
 * token without, and takes 1.35 times the processor time of gateway and worker (`docs/performance.md`).
 */
const LISTED_PER_TOKEN = 4

/**
 * Returns the cost of log probabilities in the fair order, in whole tokens, which is added to the cost of the tokens.
 * Returns undefined if no log probabilities are requested.
 */
export function toListedCost(
  request: GenerationRequest,
  { promptTokens, completionTokens }: Pick<Usage, 'promptTokens' | 'completionTokens'>,
): number | undefined {
  if (request.kind !== 'chat' || request.topLogprobs === undefined) return undefined
  const tokens = completionTokens + (request.rawPrompt === undefined ? 0 : promptTokens)
  return Math.ceil((tokens * request.topLogprobs) / LISTED_PER_TOKEN)
}

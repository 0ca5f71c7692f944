import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { isConstrained } from '#libs/contracts/request-size.ts'
import { optional } from '../../http/parse-body.ts'
import { BOOLEAN } from './field-texts.ts'

const EXPECTED = 'expected a whole number of at least 0'

/** The fields by which load tools make every output equally long. */
export const LEAST_OUTPUT_FIELDS = {
  min_tokens: optional(
    z
      .number(EXPECTED)
      .refine((value) => Number.isInteger(value) && value >= 0, EXPECTED)
      .meta({ type: 'integer', minimum: 0 }),
  ).meta({
    description:
      'The least number of output tokens: before it, neither the model nor a stop string ends the output.',
  }),
  ignore_eos: optional(z.boolean(BOOLEAN)).meta({
    description: 'True: the model does not end the output; a stop string or the limit does.',
  }),
}

const Fields = z.object(LEAST_OUTPUT_FIELDS)

/**
 * Throws an `ApiError` `invalid_request` for a minimum above the limit of the output, and for a minimum or `ignore_eos`
 * together with a grammar. A grammar says where the output may end. At a place where the grammar allows only the end,
 * an engine that must not end the output yet would have no token to choose.
 */
export function toLeastOutput(
  { min_tokens: minTokens = 0, ignore_eos: ignoreEos = false }: z.output<typeof Fields>,
  {
    maxOutputTokens,
    model,
    ...request
  }: Pick<ChatRequest, 'tools' | 'toolChoice' | 'outputFormat'> & {
    readonly maxOutputTokens: number | null
    readonly model: ModelSpec
  },
): Pick<ChatRequest, 'minTokens' | 'ignoreEos'> {
  const most = maxOutputTokens ?? model.maxOutputTokens
  if (minTokens > most) refuse('min_tokens', `expected at most ${most}, the limit of the output`)
  const hasGrammar =
    request.outputFormat.type !== 'text' || request.tools.some((tool) => isConstrained(tool, request))
  if (hasGrammar && minTokens > 0) refuse('min_tokens', HAS_GRAMMAR)
  if (hasGrammar && ignoreEos) refuse('ignore_eos', HAS_GRAMMAR)
  return { ...(minTokens > 0 && { minTokens }), ...(ignoreEos && { ignoreEos }) }
}

const HAS_GRAMMAR =
  'expected an output without a grammar: that of a format, of a forced call or of a strict tool says where it ends'

function refuse(param: string, problem: string): never {
  throw new ApiError('invalid_request', `'${param}': ${problem}.`, { param })
}

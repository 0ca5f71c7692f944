import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import { ReasoningEffort } from '#libs/contracts/generation-request.ts'
import { DIFFER } from './field-texts.ts'

export const Effort = z.enum(ReasoningEffort.options, `expected one of ${ReasoningEffort.options.join(', ')}`)

/** Returns the one effort that a field and its aliases name. Throws an `ApiError` `invalid_request` when they differ. */
export function mergeEfforts(
  given: Readonly<Record<string, ReasoningEffort | undefined>>,
): ReasoningEffort | undefined {
  const named = Object.entries(given).filter(([, effort]) => effort !== undefined)
  const [first] = named
  const other = named.find(([, effort]) => effort !== first?.[1])
  if (first !== undefined && other !== undefined) {
    throw new ApiError('invalid_request', `'${first[0]}' and '${other[0]}' ${DIFFER}.`, {
      param: first[0],
    })
  }
  return first?.[1]
}

import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import { ReasoningEffort } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { DIFFER } from './field-texts.ts'

export const Effort = z.enum(ReasoningEffort.options, `expected one of ${ReasoningEffort.options.join(', ')}`)

/** The efforts of `output_config`, of Messages. The model's efforts have three levels. */
export const NAMED_EFFORT_NAMES = ['low', 'medium', 'high', 'xhigh', 'max'] as const
export type NamedEffort = (typeof NAMED_EFFORT_NAMES)[number]
export const NAMED_EFFORTS: Readonly<Record<NamedEffort, ReasoningEffort>> = {
  low: 'low',
  medium: 'low',
  high: 'high',
  xhigh: 'max',
  max: 'max',
}

/** The efforts that a request gives, by the names of its fields. `on` switches reasoning on without an effort. */
export type GivenEfforts = Readonly<Record<string, ReasoningEffort | 'on' | undefined>>

/**
 * Returns the one effort that agrees with all fields. If no field names an effort, returns the model's default, or
 * `low` if a field switches reasoning on and the default is `off`. Throws an `ApiError` `invalid_request` for two
 * fields that contradict each other.
 */
export function mergeEfforts(
  given: GivenEfforts,
  { defaultEffort }: Pick<ModelSpec, 'defaultEffort'>,
): ReasoningEffort {
  const named = Object.entries(given).flatMap(([field, effort]) =>
    effort === undefined ? [] : [{ field, effort }],
  )
  const exact = named.find(({ effort }) => effort !== 'on') ?? named[0]
  if (exact === undefined) return defaultEffort
  const { field, effort } = exact
  const other = named.find((one) => one.effort !== effort && (one.effort !== 'on' || effort === 'off'))
  if (other !== undefined) {
    throw new ApiError('invalid_request', `'${field}' and '${other.field}' ${DIFFER}.`, { param: field })
  }
  if (effort !== 'on') return effort
  return defaultEffort === 'off' ? 'low' : defaultEffort
}

import { z } from 'zod'
import type { ReasoningEffort } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { optional } from '../../http/parse-body.ts'

/** The efforts of this interface. */
export const THINKING_EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const
type ThinkingEffort = (typeof THINKING_EFFORTS)[number]

/** The model's efforts have three levels. */
const EFFORTS: Readonly<Record<ThinkingEffort, ReasoningEffort>> = {
  low: 'low',
  medium: 'low',
  high: 'high',
  xhigh: 'max',
  max: 'max',
}

/** A smaller budget of reasoning tokens asks for little reasoning. */
const HIGH_BUDGET = 4_096

const TYPES = ['enabled', 'adaptive', 'between_tools', 'disabled'] as const
const BUDGET = 'expected a whole number of at least 1'

/** `thinking` of a Messages request. Further fields, such as `display`, are ignored. */
export const Thinking = z.looseObject(
  {
    type: z.enum(TYPES, `expected one of ${TYPES.join(', ')}`),
    budget_tokens: optional(
      z
        .number(BUDGET)
        .refine((value) => Number.isInteger(value) && value >= 1, BUDGET)
        .meta({ type: 'integer', minimum: 1 }),
    ).meta({ description: 'Read as an effort: below 4096 low, else high.' }),
  },
  'expected an object with type',
)

/**
 * Returns the effort of a request. `disabled` takes precedence, then an effort, then a budget. A request that enables
 * thinking without an effort or a budget gets `low`. No model has a default effort above `low` (`ModelSpec`), so this
 * is never less than the model's default. A request with none of these fields gets the model's default.
 */
export function toEffort(
  {
    thinking,
    effort,
  }: {
    readonly thinking: z.output<typeof Thinking> | undefined
    readonly effort: ThinkingEffort | undefined
  },
  { defaultEffort }: Pick<ModelSpec, 'defaultEffort'>,
): ReasoningEffort {
  if (thinking?.type === 'disabled') return 'off'
  if (effort !== undefined) return EFFORTS[effort]
  if (thinking === undefined) return defaultEffort
  return (thinking.budget_tokens ?? 0) < HIGH_BUDGET ? 'low' : 'high'
}

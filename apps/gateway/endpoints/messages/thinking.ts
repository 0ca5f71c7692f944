import { z } from 'zod'
import type { ReasoningEffort } from '#libs/contracts/generation-request.ts'
import { optional } from '../../http/parse-body.ts'
import { NAMED_EFFORTS, type NamedEffort } from '../fields/effort.ts'
import { OutputLimit } from '../fields/output-limit.ts'

/** A smaller budget of reasoning tokens asks for little reasoning. */
const HIGH_BUDGET = 4_096

const TYPES = ['enabled', 'adaptive', 'between_tools', 'disabled'] as const

/** `thinking` of a Messages request. Further fields, such as `display`, are ignored. */
export const Thinking = z.looseObject(
  {
    type: z.enum(TYPES, `expected one of ${TYPES.join(', ')}`),
    budget_tokens: optional(OutputLimit).meta({
      description: 'Read as an effort: below 4096 low, else high.',
    }),
  },
  'expected an object with type',
)

/**
 * Returns the effort of a request. `disabled` takes precedence, then an effort, then a budget. A request that enables
 * thinking without an effort or a budget gets `low`. No model has a default effort above `low` (`ModelSpec`), so this
 * is never less than the model's default. Returns undefined if there is neither.
 */
export function toEffort(
  thinking: z.output<typeof Thinking> | undefined,
  effort: NamedEffort | undefined,
): ReasoningEffort | undefined {
  if (thinking?.type === 'disabled') return 'off'
  if (effort !== undefined) return NAMED_EFFORTS[effort]
  if (thinking === undefined) return undefined
  return (thinking.budget_tokens ?? 0) < HIGH_BUDGET ? 'low' : 'high'
}

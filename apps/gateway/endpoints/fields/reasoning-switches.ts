import { z } from 'zod'
import { ReasoningEffort } from '#libs/contracts/generation-request.ts'
import { optional } from '../../http/parse-body.ts'
import type { GivenEfforts } from './effort.ts'
import { BOOLEAN } from './field-texts.ts'

const EFFORTS = [...ReasoningEffort.options, 'none'] as const

/** An effort in a dialect whose name for `off` is `none`. */
export const EffortOrNone = z
  .enum(EFFORTS, `expected one of ${EFFORTS.join(', ')}`)
  .transform((effort) => (effort === 'none' ? 'off' : effort))

/** A field that is refused, because it would control more of the reasoning than its effort. */
const refused = (expected: string) => optional(z.never(expected)).meta({ not: {} })

const NO_BUDGET = 'expected no budget of tokens: the effort sets how much a model reasons'

/** The fields of OpenRouter's `reasoning`. In Responses, `reasoning` has `summary` as well. */
export const REASONING_FIELDS = {
  effort: optional(EffortOrNone),
  enabled: optional(z.boolean(BOOLEAN)),
  exclude: optional(
    z.literal(false, 'expected false: reasoning is returned where there is any; effort off has none'),
  ),
  max_tokens: refused(NO_BUDGET),
}

const TYPES = ['enabled', 'disabled'] as const

/** The fields by which servers other than OpenAI's switch reasoning. `toSwitches` reads them. */
export const REASONING_SWITCHES = {
  thinking: optional(
    z.strictObject(
      {
        type: optional(z.enum(TYPES, `expected one of ${TYPES.join(', ')}`)),
        budget_tokens: refused(NO_BUDGET),
      },
      'expected an object with type',
    ),
  ).meta({ description: 'Switches reasoning, as reasoning_effort does; of DeepSeek and GLM.' }),
  enable_thinking: optional(z.boolean(BOOLEAN)).meta({
    description: 'Switches reasoning, as reasoning_effort does; of Qwen.',
  }),
  thinking_budget: refused(NO_BUDGET),
  thinking_token_budget: refused(NO_BUDGET),
  include_reasoning: optional(z.boolean(BOOLEAN)).meta({
    description: 'False: no reasoning, as with effort off. True is the default; of OpenRouter.',
  }),
  chat_template_kwargs: optional(
    z.strictObject(
      { enable_thinking: optional(z.boolean(BOOLEAN)), thinking: optional(z.boolean(BOOLEAN)) },
      'expected an object with enable_thinking or thinking',
    ),
  ).meta({ description: 'Switches reasoning, as reasoning_effort does; of vLLM and SGLang.' }),
}

const Switches = z.object({
  ...REASONING_SWITCHES,
  reasoning: optional(z.object(REASONING_FIELDS, 'expected an object')),
})

/** Returns the efforts that these fields give, by the names of the fields. */
export function toSwitches(fields: z.output<typeof Switches>): GivenEfforts {
  const { thinking, reasoning, chat_template_kwargs: template } = fields
  return {
    'thinking.type': thinking?.type === undefined ? undefined : toSwitch(thinking.type === 'enabled'),
    enable_thinking: toSwitch(fields.enable_thinking),
    'reasoning.effort': reasoning?.effort,
    'reasoning.enabled': toSwitch(reasoning?.enabled),
    // The value true asks only that the answer include the reasoning, and the answer always includes it.
    include_reasoning: fields.include_reasoning === false ? 'off' : undefined,
    'chat_template_kwargs.enable_thinking': toSwitch(template?.enable_thinking),
    'chat_template_kwargs.thinking': toSwitch(template?.thinking),
  }
}

const toSwitch = (isOn: boolean | undefined) => (isOn === undefined ? undefined : isOn ? 'on' : 'off')

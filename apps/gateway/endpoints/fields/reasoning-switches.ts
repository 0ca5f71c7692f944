import { z } from 'zod'
import { ReasoningEffort } from '#libs/contracts/generation-request.ts'
import { optional } from '../../http/parse-body.ts'
import { Effort, NAMED_EFFORTS, type GivenEfforts, type NamedEffort } from './effort.ts'
import { BOOLEAN } from './field-texts.ts'

const EFFORTS = [...ReasoningEffort.options, 'none'] as const

/** An effort of an interface whose name for `off` is `none`. */
const EffortOrNone = z
  .enum(EFFORTS, `expected one of ${EFFORTS.join(', ')}`)
  .transform((effort) => (effort === 'none' ? 'off' : effort))

/** A field that is refused, because it would control more of the reasoning than its effort. */
const refused = (expected: string) => optional(z.never(expected)).meta({ not: {} })

const NO_BUDGET = 'expected no budget of tokens: the effort sets how much a model reasons'

const SUMMARIES = ['auto', 'concise', 'detailed'] as const

/** The fields of `reasoning`, of Responses and of OpenRouter. */
const REASONING_FIELDS = {
  effort: optional(EffortOrNone),
  enabled: optional(z.boolean(BOOLEAN)),
  exclude: optional(
    z.literal(false, 'expected false: reasoning is returned where there is any; effort off has none'),
  ),
  max_tokens: refused(NO_BUDGET),
  /** With each of these values, the summary is the complete reasoning text. */
  summary: optional(z.enum(SUMMARIES, `expected one of ${SUMMARIES.join(', ')}`)),
}

const TYPES = ['enabled', 'disabled'] as const

/** The fields by which the interfaces and other servers control reasoning. `toEfforts` reads them. */
export const EFFORT_FIELDS = {
  reasoning_effort: optional(EffortOrNone).meta({ description: 'Absent: the model’s default.' }),
  effort: optional(Effort).meta({ description: 'The same as reasoning_effort.' }),
  reasoning: optional(z.object(REASONING_FIELDS, 'expected an object')).meta({
    description: 'Its effort is the same as reasoning_effort; of Responses and OpenRouter.',
  }),
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

const Efforts = z.object(EFFORT_FIELDS)

type Efforts = z.output<typeof Efforts> & {
  readonly output_config?: { readonly effort?: NamedEffort | undefined } | undefined
}

/** Returns the efforts that these fields give, by the names of the fields. */
export function toEfforts(fields: Efforts): GivenEfforts {
  const { thinking, reasoning, chat_template_kwargs: template, output_config: config } = fields
  return {
    effort: fields.effort,
    'reasoning.effort': reasoning?.effort,
    reasoning_effort: fields.reasoning_effort,
    'output_config.effort': config?.effort && NAMED_EFFORTS[config.effort],
    'thinking.type': thinking?.type === undefined ? undefined : toSwitch(thinking.type === 'enabled'),
    enable_thinking: toSwitch(fields.enable_thinking),
    'reasoning.enabled': toSwitch(reasoning?.enabled),
    // The value true asks only that the answer include the reasoning, and the answer always includes it.
    include_reasoning: fields.include_reasoning === false ? 'off' : undefined,
    'chat_template_kwargs.enable_thinking': toSwitch(template?.enable_thinking),
    'chat_template_kwargs.thinking': toSwitch(template?.thinking),
  }
}

const toSwitch = (isOn: boolean | undefined) => (isOn === undefined ? undefined : isOn ? 'on' : 'off')

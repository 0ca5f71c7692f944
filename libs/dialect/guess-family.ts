export type ModelTraits = {
  /** `model_type` of config.json; `''` if there is none. */
  readonly modelType: string
  /** The source of the chat template; `''` if the model has none. */
  readonly chatTemplate: string
}

export type FamilyGuess = {
  /** The name of a file in `models/families/`. */
  readonly family: string
  /** The reason, in words. */
  readonly because: string
}

type Rule = { readonly family: string; readonly all: readonly string[]; readonly none?: string }

/**
 * A chat template belongs to the first family whose `all` texts it contains and whose `none` text it does not contain.
 * The list begins with families whose texts no other template contains, and ends with families whose texts other
 * templates contain too. There is a rule for each family, not for each format, because families of one format differ in
 * other texts, such as reasoning tags and the control tokens of a turn.
 */
const RULES: readonly Rule[] = [
  { family: 'gpt-oss', all: ['<|channel|>', '<|message|>'] },
  { family: 'deepseek-v3.2', all: ['｜DSML｜', 'function_calls'] },
  { family: 'deepseek-r1', all: ['<｜tool▁calls▁begin｜>', '```json', '</think>'] },
  { family: 'deepseek-v3', all: ['<｜tool▁calls▁begin｜>', '```json'] },
  { family: 'deepseek-v3.1', all: ['<｜tool▁calls▁begin｜>', 'thinking'] },
  { family: 'kimi-k2-thinking', all: ['<|tool_calls_section_begin|>', '<think>'] },
  { family: 'kimi-k2', all: ['<|tool_calls_section_begin|>'] },
  { family: 'minimax-m2', all: ['<minimax:tool_call>'] },
  { family: 'glm-4.5', all: ['<arg_key>'] },
  { family: 'qwen3.5', all: ['<function=', '<tool_call>', '<think>'] },
  { family: 'qwen3-coder', all: ['<function=', '<tool_call>'] },
  { family: 'magistral', all: ['[TOOL_CALLS]', '[THINK]'] },
  { family: 'mistral', all: ['[TOOL_CALLS]'] },
  { family: 'llama4', all: ['<|header_start|>'] },
  { family: 'llama3', all: ['<|start_header_id|>', '"parameters": '] },
  { family: 'phi4', all: ['<|tool|>', '<|/tool|>'] },
  { family: 'phi4', all: ['functools['], none: '<|start_header_id|>' },
  { family: 'command3', all: ['<|START_ACTION|>', '<|START_RESPONSE|>'] },
  { family: 'command4', all: ['<|START_ACTION|>', '<|START_TEXT|>'] },
  { family: 'granite3.2', all: ['<|start_of_role|>', 'Here is my thought process:'] },
  { family: 'granite3.3', all: ['<|start_of_role|>', '<|tool_call|>', '<response>'] },
  { family: 'granite3', all: ['<|start_of_role|>', '<|tool_call|>'] },
  { family: 'granite4', all: ['<|start_of_role|>', '<tool_call>'] },
  { family: 'qwen3', all: ['<tool_call>', '<think>'], none: '<tool_calls>' },
]

/** Templates with `<tool_call>` that do not match this rule write calls as lists or as tags. */
const HERMES: Rule = { family: 'hermes', all: ['<tool_call>', '"arguments"'], none: '<tool_calls>' }

/** Families that have the same format as `hermes`. The `model_type` of config.json distinguishes them. */
const HERMES_BY_TYPE = [
  { family: 'qwen3-instruct', type: 'qwen3' },
  { family: 'qwen2.5', type: 'qwen2' },
] as const

/** Guesses a model's family from its chat template. Returns null if no rule matches. */
export function guessFamily({ modelType, chatTemplate }: ModelTraits): FamilyGuess | null {
  const fits = ({ all, none }: Rule) =>
    all.every((text) => chatTemplate.includes(text)) && (none === undefined || !chatTemplate.includes(none))
  const rule = RULES.find(fits)
  if (rule !== undefined)
    return { family: rule.family, because: `its chat template has ${rule.all.join(' and ')}` }
  if (!fits(HERMES)) return null
  const typed = HERMES_BY_TYPE.find(({ type }) => modelType.startsWith(type))
  if (typed === undefined) return { family: 'hermes', because: 'its chat template has <tool_call>' }
  return { family: typed.family, because: `its chat template has <tool_call>, its config.json ${modelType}` }
}

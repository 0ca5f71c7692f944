/** What a guess is made from. */
export type ModelTraits = {
  /** config.json's `model_type`; `''` when it does not say. */
  readonly modelType: string
  /** `''` when there is none. */
  readonly chatTemplate: string
}

export type FamilyGuess = {
  /** Of a file in `models/families/`. */
  readonly family: string
  /** What it was told by, for people. */
  readonly because: string
}

type Rule = { readonly family: string; readonly all: readonly string[]; readonly none?: string }

/**
 * The first whose texts all are in the template, and `none` is not: from formats that are told at once to those that
 * others share.
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

/** Others have calls as lists, or as tags. */
const HERMES: Rule = { family: 'hermes', all: ['<tool_call>', '"arguments"'], none: '<tool_calls>' }

/** Of models that write their calls as Hermes does, by config.json. */
const HERMES_BY_TYPE = [
  { family: 'qwen3-instruct', type: 'qwen3' },
  { family: 'qwen2.5', type: 'qwen2' },
] as const

/** A model's family by its chat template, which shows how it writes; null when nothing tells. */
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

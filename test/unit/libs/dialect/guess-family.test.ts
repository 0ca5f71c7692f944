import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { guessFamily } from '#libs/dialect/guess-family.ts'

/** The texts that identify each family's templates. */
const TEMPLATES = [
  ['gpt-oss', 'gpt_oss', '<|start|>assistant<|channel|>final<|message|>'],
  ['deepseek-v3.2', 'deepseek_v32', '<｜DSML｜function_calls>'],
  ['deepseek-v3.1', 'deepseek_v3', '{% if thinking %}<think>{% endif %}<｜tool▁calls▁begin｜>'],
  ['deepseek-r1', 'deepseek_v3', '{{ thinking }}<｜tool▁calls▁begin｜>```json</think>'],
  ['deepseek-v3', 'deepseek_v3', '<｜tool▁calls▁begin｜>\n```json\n'],
  ['kimi-k2-thinking', 'kimi_k2', '<|tool_calls_section_begin|><think></think>'],
  ['kimi-k2', 'kimi_k2', '<|tool_calls_section_begin|>'],
  ['minimax-m2', 'minimax_m2', '<minimax:tool_call><think>'],
  ['glm-4.5', 'glm4_moe', '<tool_call>{name}<arg_key><think>'],
  ['qwen3.5', 'qwen3_5', '<tool_call><function=f><think>'],
  ['qwen3-coder', 'qwen3_moe', '<tool_call><function=f>'],
  ['magistral', 'mistral', '[THINK][TOOL_CALLS]'],
  ['mistral', 'mistral', '[INST][TOOL_CALLS]'],
  ['llama4', 'llama4', '<|header_start|>'],
  ['llama3', 'llama', '<|start_header_id|><|python_tag|>{"name": "f", "parameters": {}}'],
  ['phi4', 'phi3', '<|tool|>[]<|/tool|>'],
  ['phi4', 'phi3', 'functools[{"name": "f"}]'],
  ['command3', 'cohere2', '<|START_THINKING|><|START_ACTION|>[]<|END_ACTION|><|START_RESPONSE|>'],
  ['command4', 'cohere2_moe', '<|START_THINKING|><|START_ACTION|>[]<|END_ACTION|><|START_TEXT|>'],
  ['granite3.2', 'granite', '<|start_of_role|><|tool_call|>Here is my thought process:'],
  ['granite3.3', 'granite', '<|start_of_role|><|tool_call|><think></think><response></response>'],
  ['granite3', 'granite', '<|start_of_role|><|tool_call|>'],
  ['granite4', 'granitemoehybrid', '<|start_of_role|><tool_call>'],
  ['qwen3', 'qwen3', '<tool_call>{% if enable_thinking %}<think>'],
  ['qwen3-instruct', 'qwen3_moe', '<tool_call>{"arguments": {}}'],
  ['qwen2.5', 'qwen2', '<tool_call>{"arguments": {}}'],
  ['hermes', 'llama', '<tool_call>{"arguments": {}}'],
] as const

it.for(TEMPLATES)('%s is recognised by its template', ([family, modelType, chatTemplate]) => {
  expect(guessFamily({ modelType, chatTemplate })).toMatchObject({ family })
})

it('every family can be guessed, and every guess is a family', () => {
  const families = readdirSync('models/families').map((name) => name.replace('.json', ''))
  expect(new Set(TEMPLATES.map(([family]) => family))).toEqual(new Set(families))
})

it.for([
  ['shows nothing', ''],
  ['has no calls', '[INST] {{ x }}'],
  ['has calls of a kind that is not known', '<|start_header_id|>{{ tools }}[f(a=1)]'],
  ['has calls in a list', 'within <tool_call></tool_call>: <tool_calls>[{"arguments": {}}]</tool_calls>'],
  ['has calls as tags of its own', '<tool_call><invoke name="f"><a>1</a></invoke></tool_call>'],
  ['has a section of another name', '<｜DSML｜tool_calls>'],
])('a template that %s has no guess', ([, chatTemplate = '']) => {
  expect(guessFamily({ modelType: 'qwen3', chatTemplate })).toBeNull()
})

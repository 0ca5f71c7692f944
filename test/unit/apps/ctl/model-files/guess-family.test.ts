import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { guessFamily } from '#apps/ctl/model-files/guess-family.ts'

/** What is particular to the templates of each family. */
const TEMPLATES = [
  ['gpt-oss', 'gpt_oss', '<|start|>assistant<|channel|>final<|message|>'],
  ['deepseek-v3.2', 'deepseek_v32', '<｜DSML｜function_calls>'],
  ['deepseek-v3.1', 'deepseek_v3', '{% if thinking %}<think>{% endif %}<｜tool▁calls▁begin｜>'],
  ['deepseek-r1', 'deepseek_v3', '<｜tool▁calls▁begin｜><｜Assistant｜><think>'],
  ['deepseek-v3', 'deepseek_v3', '<｜tool▁calls▁begin｜>'],
  ['kimi-k2-thinking', 'kimi_k2', '<|tool_calls_section_begin|><think></think>'],
  ['kimi-k2', 'kimi_k2', '<|tool_calls_section_begin|>'],
  ['minimax-m2', 'minimax_m2', '<minimax:tool_call><think>'],
  ['glm-4.5', 'glm4_moe', '<tool_call>{name}<arg_key><think>'],
  ['qwen3.5', 'qwen3_5', '<tool_call><function=f><think>'],
  ['qwen3-coder', 'qwen3_moe', '<tool_call><function=f>'],
  ['magistral', 'mistral', '[THINK][TOOL_CALLS]'],
  ['mistral', 'mistral', '[INST][TOOL_CALLS]'],
  ['llama4', 'llama4', '<|header_start|>'],
  ['llama3', 'llama', '<|start_header_id|><|python_tag|>'],
  ['phi4', 'phi3', '<|tool|>[]<|/tool|>'],
  ['command3', 'cohere2', '<|START_THINKING|><|START_ACTION|>[]<|END_ACTION|><|START_RESPONSE|>'],
  ['command4', 'cohere2_moe', '<|START_THINKING|><|START_ACTION|>[]<|END_ACTION|><|START_TEXT|>'],
  ['granite3.2', 'granite', '<|start_of_role|><|tool_call|>Here is my thought process:'],
  ['granite3.3', 'granite', '<|start_of_role|><|tool_call|><think></think><response></response>'],
  ['granite3', 'granite', '<|start_of_role|><|tool_call|>'],
  ['granite4', 'granitemoehybrid', '<|start_of_role|><tool_call>'],
  ['qwen3', 'qwen3', '<tool_call>{% if enable_thinking %}<think>'],
  ['qwen3-instruct', 'qwen3_moe', '<tool_call>'],
  ['qwen2.5', 'qwen2', '<tool_call>'],
  ['hermes', 'llama', '<tool_call>'],
] as const

it.for(TEMPLATES)('%s is told by its template', ([family, modelType, chatTemplate]) => {
  expect(guessFamily({ modelType, chatTemplate })).toMatchObject({ family })
})

it('every family can be guessed, and every guess is a family', () => {
  const families = readdirSync('models/families').map((name) => name.replace('.json', ''))
  expect(TEMPLATES.map(([family]) => family).toSorted((a, b) => a.localeCompare(b))).toEqual(
    families.toSorted((a, b) => a.localeCompare(b)),
  )
})

it('a template that shows nothing has no guess', () => {
  expect(guessFamily({ modelType: 'qwen3', chatTemplate: '' })).toBeNull()
  expect(guessFamily({ modelType: 'llama', chatTemplate: '[INST] {{ x }}' })).toBeNull()
})

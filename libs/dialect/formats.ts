import { cohere } from './formats/cohere.ts'
import { deepseekV3 } from './formats/deepseek-v3.ts'
import { deepseekV31 } from './formats/deepseek-v3.1.ts'
import { deepseekV32 } from './formats/deepseek-v3.2.ts'
import { functools } from './formats/functools.ts'
import { glm45 } from './formats/glm-4.5.ts'
import { granite3 } from './formats/granite3.ts'
import { harmony } from './formats/harmony.ts'
import { hermes } from './formats/hermes.ts'
import { json } from './formats/json.ts'
import { kimiK2 } from './formats/kimi-k2.ts'
import { minimaxM2 } from './formats/minimax-m2.ts'
import { mistral } from './formats/mistral.ts'
import { pythonic } from './formats/pythonic.ts'
import { qwen3Coder } from './formats/qwen3-coder.ts'

/** Every tool-call format, by its name in `models/families/`. A new format is a file in `formats/` and a line here. */
export const TOOL_CALL_FORMATS = {
  hermes,
  'qwen3-coder': qwen3Coder,
  'deepseek-v3': deepseekV3,
  'deepseek-v3.1': deepseekV31,
  'deepseek-v3.2': deepseekV32,
  'minimax-m2': minimaxM2,
  'kimi-k2': kimiK2,
  'glm-4.5': glm45,
  mistral,
  json,
  functools,
  granite3,
  cohere,
  pythonic,
  harmony,
} as const

export type ToolCallFormatName = keyof typeof TOOL_CALL_FORMATS

export const TOOL_CALL_FORMAT_NAMES: readonly ToolCallFormatName[] =
  Object.keys(TOOL_CALL_FORMATS).filter(isFormatName)

function isFormatName(name: string): name is ToolCallFormatName {
  return name in TOOL_CALL_FORMATS
}

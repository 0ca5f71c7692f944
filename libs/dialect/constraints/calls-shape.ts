import type { ModelFamily } from '../family.ts'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { CallsShape, JsonSchema } from '#apps/worker/engine/engine-client.ts'

type Format = Exclude<ModelFamily['toolCalls'], 'none'>
type Shaped = Exclude<Format, (typeof UNSHAPED)[number]>

/** A tool's name, and what its arguments are held to. */
export type HeldTool = { readonly name: string; readonly schema: JsonSchema }

/** Their values have no quotes, or Python's, which no JSON schema describes. */
const UNSHAPED = ['qwen3-coder', 'deepseek-v3.2', 'minimax-m2', 'glm-4.5', 'pythonic'] as const

/**
 * The format in which a request's calls come: the family's own, or plain JSON where a grammar is to hold them and
 * the family's has no shape for one.
 */
export function callsFormat(
  request: Pick<ChatRequest, 'toolChoice' | 'outputFormat'>,
  format: ModelFamily['toolCalls'],
): Shaped | ModelFamily['toolCalls'] {
  const held =
    request.toolChoice === 'required' ||
    typeof request.toolChoice === 'object' ||
    (request.toolChoice === 'auto' && request.outputFormat.type !== 'text')
  return held && format !== 'none' ? shapedFormat(format) : format
}

function shapedFormat(format: Format): Shaped {
  return isShaped(format) ? format : 'json'
}

function isShaped(format: Format): format is Shaped {
  return !UNSHAPED.some((name) => name === format)
}

/** How a family writes these calls, letter by letter: what its chat template shows to the model. */
export function toCallsShape(format: Format, tools: readonly HeldTool[], single: boolean): CallsShape {
  const { section = null, separator, begin, end } = SHAPES[shapedFormat(format)]
  return {
    section,
    tags: tools.map(({ name, schema }) => ({ begin: begin(name), schema, end })),
    separator,
    single,
  }
}

/**
 * What every call of a format begins with and nothing else does; null: nothing does, and a model that is free to
 * call cannot be held to anything.
 */
export function triggerOf(format: Format): string | null {
  return isShaped(format) ? (SHAPES[format].trigger ?? null) : null
}

type Shape = {
  readonly trigger?: string
  readonly section?: { readonly begin: string; readonly end: string }
  readonly begin: (name: string) => string
  readonly end: string
  readonly separator: string
}

const DEEPSEEK_SECTION = { begin: '<｜tool▁calls▁begin｜>', end: '<｜tool▁calls▁end｜>' }

/** Up to the arguments of a call that is an object. */
const objectWith = (key: 'arguments' | 'parameters') => (name: string) =>
  `{"name": ${JSON.stringify(name)}, "${key}": `

const SHAPES: Readonly<Record<Shaped, Shape>> = {
  hermes: {
    trigger: '<tool_call>',
    begin: (name) => `<tool_call>\n${objectWith('arguments')(name)}`,
    end: '}\n</tool_call>',
    separator: '\n',
  },
  'deepseek-v3': {
    trigger: DEEPSEEK_SECTION.begin,
    section: DEEPSEEK_SECTION,
    begin: (name) => `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n`,
    end: '\n```<｜tool▁call▁end｜>',
    separator: '\n',
  },
  'deepseek-v3.1': {
    trigger: DEEPSEEK_SECTION.begin,
    section: DEEPSEEK_SECTION,
    begin: (name) => `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>`,
    end: '<｜tool▁call▁end｜>',
    separator: '',
  },
  'kimi-k2': {
    trigger: '<|tool_calls_section_begin|>',
    section: { begin: '<|tool_calls_section_begin|>', end: '<|tool_calls_section_end|>' },
    // The number is the parser's to count.
    begin: (name) => `<|tool_call_begin|>functions.${name}:0<|tool_call_argument_begin|>`,
    end: '<|tool_call_end|>',
    separator: '',
  },
  mistral: {
    trigger: '[TOOL_CALLS]',
    section: { begin: '[TOOL_CALLS][', end: ']' },
    begin: objectWith('arguments'),
    end: '}',
    separator: ', ',
  },
  json: { begin: objectWith('parameters'), end: '}', separator: '; ' },
  functools: {
    trigger: 'functools[',
    section: { begin: 'functools[', end: ']' },
    begin: objectWith('arguments'),
    end: '}',
    separator: ', ',
  },
  granite3: {
    trigger: '<|tool_call|>',
    section: { begin: '<|tool_call|>[', end: ']' },
    begin: objectWith('arguments'),
    end: '}',
    separator: ', ',
  },
  cohere: {
    trigger: '<|START_ACTION|>',
    section: { begin: '<|START_ACTION|>[\n    ', end: '\n]<|END_ACTION|>' },
    // The number only stands beside the call's result in the prompt, and the template counts it there.
    begin: (name) => `{"tool_call_id": "0", "tool_name": ${JSON.stringify(name)}, "parameters": `,
    end: '}',
    separator: ',\n    ',
  },
  harmony: {
    begin: (name) =>
      `<|start|>assistant<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>`,
    end: '<|call|>',
    separator: '',
  },
}

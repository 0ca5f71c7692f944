import type { ChatRequest, GenerationRequest } from '#libs/contracts/generation-request.ts'

export type InputEstimate = {
  /** Tokens that this request probably does not exceed. */
  estimate(model: string, request: GenerationRequest): number
  /** Learns from a worker's exact count. */
  learn(model: string, request: GenerationRequest, promptTokens: number): void
}

/** What a message costs beyond its text: role, separators. */
const MESSAGE_BYTES = 24
/** What a list of tools costs beyond its definitions: the template's instructions. */
const TOOLS_BYTES = 480
/** What an input of its own costs beyond its text: special tokens around it. */
const INPUT_BYTES = 4
/** Before anything was learned: no tokenizer in use makes more tokens of ordinary text. */
const UNLEARNED_TOKENS_PER_BYTE = 0.6
const REMEMBERED = 256
const QUANTILE = 0.95

/**
 * The gateway never tokenizes: it estimates the input from its bytes, with a high quantile of what workers
 * counted. A too low estimate costs one more round (the worker asks for an exact hold), a too high one only
 * holds more for a while. Neither can create debt.
 */
export function createInputEstimate(): InputEstimate {
  const ratios = new Map<string, { ring: number[]; next: number; quantile: number }>()
  return {
    estimate(model, request) {
      const perByte = ratios.get(model)?.quantile ?? UNLEARNED_TOKENS_PER_BYTE
      return Math.max(1, Math.ceil(countPromptBytes(request) * perByte))
    },
    learn(model, request, promptTokens) {
      const known = ratios.get(model) ?? { ring: [], next: 0, quantile: UNLEARNED_TOKENS_PER_BYTE }
      ratios.set(model, known)
      known.ring[known.next] = promptTokens / countPromptBytes(request)
      known.next = (known.next + 1) % REMEMBERED
      // Sorting at each sixteenth is enough for a slow quantity, and keeps it off the requests between.
      if (known.next % 16 === 0) known.quantile = quantileOf(known.ring)
    },
  }
}

function quantileOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * QUANTILE)] ?? UNLEARNED_TOKENS_PER_BYTE
}

/** The text of a prompt in bytes, with what each message, tool and input costs beyond it. */
export function countPromptBytes(request: GenerationRequest): number {
  if (request.kind === 'chat') return countChatBytes(request)
  let bytes = 0
  for (const input of request.inputs) bytes += countInputBytes(input)
  return bytes
}

/** The text of one input to embed in bytes, with what it costs beyond it. */
export function countInputBytes(input: string): number {
  return INPUT_BYTES + Buffer.byteLength(input)
}

function countChatBytes({ messages, tools }: ChatRequest): number {
  let bytes = tools.length === 0 ? 0 : TOOLS_BYTES
  for (const message of messages) {
    bytes += MESSAGE_BYTES + Buffer.byteLength(message.content)
    if (message.role !== 'assistant') continue
    bytes += Buffer.byteLength(message.reasoning)
    for (const call of message.toolCalls)
      bytes += MESSAGE_BYTES + call.name.length + Buffer.byteLength(call.arguments)
  }
  for (const tool of tools) bytes += MESSAGE_BYTES + Buffer.byteLength(JSON.stringify(tool))
  return bytes
}

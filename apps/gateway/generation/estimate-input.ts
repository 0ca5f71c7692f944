import type { ChatRequest, GenerationRequest } from '#libs/contracts/generation-request.ts'

export type InputEstimate = {
  /** A number of tokens that the request probably does not exceed. */
  estimate(model: string, request: GenerationRequest): number
  /** Takes a worker's exact count into account. */
  learn(model: string, request: GenerationRequest, promptTokens: number): void
}

/** What the template adds to a message: role, separators. */
const MESSAGE_BYTES = 24
/** What the template adds to a list of tools: its instructions. */
const TOOLS_BYTES = 480
/** What the tokenizer adds to an input to embed: special tokens. */
const INPUT_BYTES = 4
/** Before the first count: no tokenizer in use makes more tokens of ordinary text. */
const UNLEARNED_TOKENS_PER_BYTE = 0.6
/** Counts per model, of which the quantile is taken. */
const REMEMBERED = 256
const QUANTILE = 0.95
/** Sorting at each count would burden every request, and the quantile changes slowly. */
const SORT_EVERY = 16

/**
 * The gateway never tokenizes: it estimates the input from its bytes, by a high quantile of the ratios that workers
 * counted. Too low an estimate costs one more round (the worker declines and the hold is replaced by an exact one),
 * too high an estimate holds more credits for a while. Neither can create debt.
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
      if (known.next % SORT_EVERY === 0) known.quantile = quantileOf(known.ring)
    },
  }
}

function quantileOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * QUANTILE)] ?? UNLEARNED_TOKENS_PER_BYTE
}

/** The bytes of a prompt's text, plus what the template adds to each message, tool and input. */
export function countPromptBytes(request: GenerationRequest): number {
  if (request.kind === 'chat') return countChatBytes(request)
  let bytes = 0
  for (const input of request.inputs) bytes += countInputBytes(input)
  return bytes
}

/** The bytes of one input to embed, plus what the tokenizer adds. */
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

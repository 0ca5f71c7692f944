import { z } from 'zod'

/**
 * The form of request to which every generation endpoint translates the HTTP body that it receives. It contains no
 * OpenAI field names and nothing of HTTP. It is a schema because all of it is sent through Redis. Unknown fields are
 * ignored, as in the job.
 */

export const ToolCall = z.object({
  id: z.string(),
  name: z.string(),
  /** The arguments' text, as the model wrote it or as the caller replays it; not always valid JSON. */
  arguments: z.string(),
})
export type ToolCall = z.infer<typeof ToolCall>

export const ChatMessage = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.string() }),
  z.object({ role: z.literal('user'), content: z.string() }),
  z.object({
    role: z.literal('assistant'),
    content: z.string(),
    reasoning: z.string(),
    toolCalls: z.array(ToolCall),
  }),
  z.object({ role: z.literal('tool'), content: z.string(), toolCallId: z.string() }),
])
export type ChatMessage = z.infer<typeof ChatMessage>

export const ToolDefinition = z.object({
  name: z.string(),
  description: z.string().nullable(),
  /** A JSON schema; null means that the tool takes no arguments. */
  parameters: z.record(z.string(), z.unknown()).nullable(),
  /** The caller's JSON text of `parameters`, if `JSON.stringify` may write other numbers or another order of names. */
  parametersText: z.string().optional(),
  /** True: calls are constrained to the schema even if a call is optional. Absent: the caller did not set it. */
  strict: z.boolean().optional(),
})
export type ToolDefinition = z.infer<typeof ToolDefinition>

/** The caller's sampling parameters. An absent parameter falls back to the model's default, then to a neutral value. */
export const Sampling = z.object({
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.int().optional(),
  minP: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  presencePenalty: z.number().optional(),
  repetitionPenalty: z.number().optional(),
  /** 31 bits: vLLM's field is an int32, in which -1 means no seed. */
  seed: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .optional(),
  /** Token id (as text) → bias. */
  logitBias: z.record(z.string(), z.number()).optional(),
})
export type Sampling = z.infer<typeof Sampling>

/** The most tokens whose log probabilities an engine reports at each place of the output: vLLM's default limit. */
export const MAX_TOP_LOGPROBS = 20

export const ReasoningEffort = z.enum(['off', 'low', 'high', 'max'])
export type ReasoningEffort = z.infer<typeof ReasoningEffort>

/** `required`: at least one call; a name: exactly that tool. */
export const ToolChoice = z.union([z.enum(['auto', 'none', 'required']), z.object({ name: z.string() })])
export type ToolChoice = z.infer<typeof ToolChoice>

/** The format that the answer's text is constrained to. */
export const OutputFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json-object') }),
  z.object({
    type: z.literal('json-schema'),
    schema: z.record(z.string(), z.unknown()),
    /** The caller's JSON text of `schema`, if `JSON.stringify` may write other numbers or another order of names. */
    schemaText: z.string().optional(),
  }),
  /** The whole text matches it. */
  z.object({ type: z.literal('regex'), pattern: z.string() }),
  z.object({ type: z.literal('choice'), choices: z.array(z.string()).min(1) }),
  /** EBNF, with a rule `root`. */
  z.object({ type: z.literal('grammar'), grammar: z.string() }),
])
export type OutputFormat = z.infer<typeof OutputFormat>

/** How a prompt is tokenized that reaches the engine as the caller wrote it. */
const RawPrompt = z.object({
  /** True: the special tokens that the tokenizer puts around a text are added, such as one for the beginning. */
  addsSpecialTokens: z.boolean(),
  /** The most tokens that the prompt may have, so that the list of their log probabilities is bounded. Absent: any. */
  mostTokens: z.int().min(1).optional(),
})

/** A conversation that the model continues. */
export const ChatRequest = z.object({
  kind: z.literal('chat'),
  messages: z.array(ChatMessage).min(1),
  tools: z.array(ToolDefinition),
  toolChoice: ToolChoice,
  /** False: the answer has at most one call. */
  parallelToolCalls: z.boolean(),
  outputFormat: OutputFormat,
  sampling: Sampling,
  /** Stop strings; the text before the first match is the answer, the match itself is never sent. */
  stop: z.array(z.string()),
  reasoningEffort: ReasoningEffort,
  /** The least number of output tokens: before it, neither an end token nor a stop string ends the output. Absent: 0. */
  minTokens: z.int().min(0).optional(),
  /** True: an end token does not end the output. */
  ignoreEos: z.boolean().optional(),
  /**
   * How many of the most probable tokens are reported, with their log probabilities, for each output token. 0: only the
   * output token's own log probability. Absent: no log probabilities.
   */
  topLogprobs: z.int().min(0).max(MAX_TOP_LOGPROBS).optional(),
  /**
   * Present: the prompt is the content of the only message, without the chat template, and the output is text alone.
   * `topLogprobs` then applies to the tokens of the prompt as well. Absent: the chat template renders the messages.
   */
  rawPrompt: RawPrompt.optional(),
})
export type ChatRequest = z.infer<typeof ChatRequest>

/** Texts, each of which becomes one vector. */
export const EmbeddingRequest = z.object({
  kind: z.literal('embedding'),
  inputs: z.array(z.string().min(1)).min(1),
})
export type EmbeddingRequest = z.infer<typeof EmbeddingRequest>

export const GenerationRequest = z.discriminatedUnion('kind', [ChatRequest, EmbeddingRequest])
export type GenerationRequest = z.infer<typeof GenerationRequest>

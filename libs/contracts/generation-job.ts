import { z } from 'zod'
import { MAX_CHOICES } from './choices.ts'
import { GenerationRequest, type ChatRequest } from './generation-request.ts'

/** An int64 amount as text: JSON numbers and Redis' Lua would round it. */
const Int64Text = z.string().regex(/^\d{1,19}$/)

/** The money set aside for one generation, and the prices that turn its amount into tokens. */
export const Hold = z.object({
  amountNano: Int64Text,
  /** Nano-credits per 1,000,000 tokens. */
  inputPriceNano: Int64Text,
  outputPriceNano: Int64Text,
  /** Absent in jobs of older gateways. */
  cachedInputPriceNano: Int64Text.optional(),
  /**
   * The number of output tokens, of all choices together, that the hold's amount pays for in addition to the estimated
   * input. With a small balance the number may be below the caller's limit; the hold can grow while the generation runs.
   */
  outputTokens: z.int().min(0),
  /**
   * True if the account's credits limited the hold's amount. A prompt that this amount cannot pay fails with
   * `insufficient_credits`.
   */
  clamped: z.boolean(),
  /**
   * The hold as billing granted and signed it. In the job that is stored in Redis it proves no more than which gateway
   * has the hold (`settlement-proof.ts`).
   */
  receipt: z.string(),
})
export type Hold = z.infer<typeof Hold>

/**
 * Everything a worker needs to run one generation, except its deadline: the generation's record has the deadline, in
 * Redis' time. Unknown fields are ignored, so that gateways and workers of two releases can run together. A feature
 * that a worker must not ignore is one of the record's requirements.
 */
export const GenerationJob = z.object({
  id: z.string(),
  model: z.string(),
  /** Boot id of the gateway that waits for the events. It names the gateway's one channel for events. */
  gateway: z.string(),
  /** The gateway's number for this generation's stream of events; never reused within a boot. */
  stream: z.int(),
  hold: Hold,
  /** The owner of the prompt. Engines keep the cached prefixes of one account, or of one key, apart from all others. */
  tenant: z.object({ accountId: z.string(), keyId: z.string() }),
  /**
   * The caller's output limit for each choice, or the model's if the caller sets none. Credits may lower it. 0 for
   * embeddings.
   */
  maxOutputTokens: z.int().min(0),
  contextWindow: z.int().min(1),
  request: GenerationRequest,
  /** How many answers to the prompt the generation makes. Absent: one. */
  choices: z.int().min(2).max(MAX_CHOICES).optional(),
  /** The W3C `traceparent` of the generation's trace; absent if the generation is not traced. */
  traceparent: z.string().optional(),
})
export type GenerationJob = z.infer<typeof GenerationJob>
export type ChatJob = GenerationJob & { readonly request: ChatRequest }

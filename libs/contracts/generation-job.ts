import { z } from 'zod'
import { GenerationRequest, type ChatRequest } from './generation-request.ts'

/** An int64 amount as text: JSON numbers and Redis' Lua would round it. */
const Int64Text = z.string().regex(/^\d{1,19}$/)

/** The money set aside for one generation, and the prices that turn its amount into tokens. */
export const Hold = z.strictObject({
  amountNano: Int64Text,
  /** Nano-credits per 1,000,000 tokens. */
  inputPriceNano: Int64Text,
  outputPriceNano: Int64Text,
  /** True when money set the amount; then an exact input that does not fit is `insufficient_credits`. */
  clamped: z.boolean(),
  /** The hold as billing granted and signed it; only billing reads it. */
  receipt: z.string(),
})
export type Hold = z.infer<typeof Hold>

/**
 * Everything a worker needs to run one generation. It is stored in the generation's record, not in the ticket: a
 * second ticket stays small, and settling deletes the job.
 */
export const GenerationJob = z.strictObject({
  id: z.string(),
  model: z.string(),
  /** Boot id of the gateway that waits for the events; names its one channel on the bus. */
  gateway: z.string(),
  /** The gateway's number for this generation's stream of events; never reused within a boot. */
  stream: z.int(),
  hold: Hold,
  /** The output limit before money: the caller's, else the model's. Always set; 0 for embeddings. */
  maxOutputTokens: z.int().min(0),
  contextWindow: z.int().min(1),
  /** Unix ms. Reached while generating: finishes as `length`. Reached while queued: refused. */
  deadlineMs: z.int(),
  request: GenerationRequest,
})
export type GenerationJob = z.infer<typeof GenerationJob>
export type ChatJob = GenerationJob & { readonly request: ChatRequest }

/** The BullMQ job; it lets a worker claim the generation. */
export const GenerationTicket = z.strictObject({
  id: z.string(),
  epoch: z.int().min(1),
})
export type GenerationTicket = z.infer<typeof GenerationTicket>

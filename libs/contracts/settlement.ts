import { z } from 'zod'
import { decodeTiming } from './settlement-timing.ts'

/**
 * One entry of a model's settlement stream: how a generation ended and what it used. Redis streams carry
 * text fields, so numbers are coerced here, at the edge.
 *
 * `completed` and `cancelled` are charged for their usage. `never-ran` costs nothing. `fault` (it failed or was refused)
 * costs nothing as long as the account's failures of the hour have few tokens (`settle.sql`).
 */
export const SettlementOutcome = z.enum(['completed', 'cancelled', 'fault', 'never-ran'])
export type SettlementOutcome = z.infer<typeof SettlementOutcome>

const TokenCount = z.coerce.number().int().min(0).max(1_000_000_000)

export const Settlement = z.object({
  id: z.string().min(1),
  epoch: z.coerce.number().int().min(1),
  outcome: SettlementOutcome,
  promptTokens: TokenCount,
  cachedTokens: TokenCount,
  completionTokens: TokenCount,
  /** Boot id of the process that settled. */
  by: z.string(),
  /** The receipt of the hold, with the proof that the settler may settle it (`settlement-proof.ts`). */
  receipt: z.string().optional(),
  /** The boot id of the dead gateway for which a worker settles; absent in the settlements of gateways. */
  orphanOf: z.string().optional(),
  /** The `traceparent` of the generation's job; absent if the generation is not traced. */
  traceparent: z.string().optional(),
  /** Absent in the entries of older releases. */
  timing: z.string().transform(decodeTiming).optional(),
})
export type Settlement = z.infer<typeof Settlement>

import { z } from 'zod'

/**
 * One file of `models/`: how a family of models speaks. The worker renders and parses with it, the simulator
 * plays it.
 */
export const ModelFamily = z.strictObject({
  /** Folder under `models/` with tokenizer.json, tokenizer_config.json, config.json, generation_config.json. */
  tokenizer: z.string(),
  toolCalls: z.enum(['none', 'hermes']),
  /** `think-tags`: `<think>` … `</think>` before the answer. */
  reasoning: z.enum(['none', 'think-tags']),
})
export type ModelFamily = z.infer<typeof ModelFamily>

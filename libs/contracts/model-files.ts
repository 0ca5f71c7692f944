import { z } from 'zod'

const FileName = z.string().regex(/^[\w.-]+$/)

/** One file of `models/`: of which parts a model that is served consists. */
export const ModelFiles = z.strictObject({
  /** Names `models/families/<family>.json`. */
  family: FileName,
  /**
   * Under `models/`, with tokenizer.json, tokenizer_config.json, config.json, generation_config.json. Without it the
   * worker asks the engine for them.
   */
  folder: FileName.optional(),
})
export type ModelFiles = z.infer<typeof ModelFiles>

import { z } from 'zod'

const FILE_NAME = '[\\w-][\\w.-]*'
const FileName = z.string().regex(new RegExp(`^${FILE_NAME}$`))
const FilePath = z.string().regex(new RegExp(`^${FILE_NAME}(?:/${FILE_NAME})*$`))

/** One file of `models/`: of which parts a model that is served consists. */
export const ModelFiles = z.strictObject({
  /** Names `models/families/<family>.json`. */
  family: FileName,
  /**
   * Under `models/`, with tokenizer.json, tokenizer_config.json, config.json, generation_config.json. Without it the
   * worker asks the engine for them.
   */
  folder: FileName.optional(),
  /** A file under `models/`, whose Jinja is used instead of the chat templates among those files. */
  chatTemplate: FilePath.optional(),
})
export type ModelFiles = z.infer<typeof ModelFiles>

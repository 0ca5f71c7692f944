import { z } from 'zod'

const FILE_NAME = '[\\w-][\\w.-]*'
const FileName = z.string().regex(new RegExp(`^${FILE_NAME}$`))
const FilePath = z.string().regex(new RegExp(`^${FILE_NAME}(?:/${FILE_NAME})*$`))

/** `models/<name>.json`: the parts that a model consists of. */
export const ModelManifest = z.strictObject({
  /** Names `models/families/<family>.json`. */
  family: FileName,
  /**
   * A folder under `models/` with tokenizer.json, tokenizer_config.json, config.json and generation_config.json.
   * Without it the worker fetches these files from the engine.
   */
  folder: FileName.optional(),
  /** A Jinja file under `models/` that replaces the chat templates of the model's files. */
  chatTemplate: FilePath.optional(),
})
export type ModelManifest = z.infer<typeof ModelManifest>

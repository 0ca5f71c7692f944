import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { loadModel, type LoadedModel } from '#libs/model-files/load-model.ts'
import { bundleTokenizer } from './tokenizer-bundle.ts'

/** The model that an engine serves. */
export type Model = LoadedModel & {
  readonly folder: string
  /** Zip of the tokenizer's files, as GetTokenizer sends it. */
  readonly bundle: Buffer
  readonly modelType: string
  readonly architectures: readonly string[]
  /** End tokens of config.json; generation_config.json may add others, see `eosIds`. */
  readonly configEosIds: readonly number[]
  readonly bosId: number
  readonly padId: number
}

const TokenIds = z.union([z.int(), z.array(z.int())])

const ModelConfig = z.object({
  model_type: z.string().default(''),
  architectures: z.array(z.string()).default([]),
  eos_token_id: TokenIds.default([]),
  bos_token_id: z.int().nullish(),
  pad_token_id: z.int().nullish(),
})
type ModelConfig = z.infer<typeof ModelConfig>

/** Loads `<modelsFolder>/<name>.json` and the folder that it names. Errors contain the file's path. */
export async function loadEngineModel(modelsFolder: string, name: string): Promise<Model> {
  const model = await loadModel(modelsFolder, name)
  const { folder } = model
  if (folder === null) throw new Error(`${join(modelsFolder, name)}.json names no folder`)
  const [config, bundle] = await Promise.all([
    readConfig(join(folder, 'config.json')),
    bundleTokenizer(folder),
  ])
  return {
    ...model,
    folder,
    bundle,
    modelType: config.model_type,
    architectures: config.architectures,
    configEosIds: typeof config.eos_token_id === 'number' ? [config.eos_token_id] : config.eos_token_id,
    bosId: config.bos_token_id ?? 0,
    padId: config.pad_token_id ?? 0,
  }
}

async function readConfig(path: string): Promise<ModelConfig> {
  try {
    return ModelConfig.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    throw new Error(`${path} cannot be used`, { cause: error })
  }
}

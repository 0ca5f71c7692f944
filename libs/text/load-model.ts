import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { z } from 'zod'
import { ModelFamily } from '#libs/contracts/model-family.ts'
import { ModelFiles } from '#libs/contracts/model-files.ts'
import { loadTokenizer, type Tokenizer } from './tokenizer.ts'

export type LoadedModel = {
  readonly family: ModelFamily
  /** Of the tokenizer's files. */
  readonly folder: string
  readonly tokenizer: Tokenizer
}

/** Loads `<modelsFolder>/<name>.json`, the family and the tokenizer that it names. Throws an error that names the file. */
export async function loadModel(modelsFolder: string, name: string): Promise<LoadedModel> {
  const files = await readAs(ModelFiles, join(modelsFolder, `${name}.json`))
  const folder = join(modelsFolder, files.folder)
  const [family, tokenizer] = await Promise.all([
    readAs(ModelFamily, join(modelsFolder, 'families', `${files.family}.json`)),
    loadTokenizer(folder),
  ])
  return { family, folder, tokenizer }
}

async function readAs<Schema extends z.ZodType>(schema: Schema, path: string): Promise<z.infer<Schema>> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (cause) {
    throw new Error(`${path} cannot be used`, { cause })
  }
}

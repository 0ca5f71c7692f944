import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ModelFamily } from '#libs/contracts/model-family.ts'
import { loadTokenizer, type Tokenizer } from './tokenizer.ts'

export type LoadedFamily = {
  readonly family: ModelFamily
  /** Of the tokenizer's files. */
  readonly folder: string
  readonly tokenizer: Tokenizer
}

/** Loads `<modelsFolder>/<name>.json` and the tokenizer that it names. Throws an error that names the file. */
export async function loadModelFamily(modelsFolder: string, name: string): Promise<LoadedFamily> {
  const path = join(modelsFolder, `${name}.json`)
  const family = await readFamily(path)
  const folder = join(modelsFolder, family.tokenizer)
  return { family, folder, tokenizer: await loadTokenizer(folder) }
}

async function readFamily(path: string): Promise<ModelFamily> {
  try {
    return ModelFamily.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (cause) {
    throw new Error(`${path} is no model family`, { cause })
  }
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ModelFamily } from '#libs/contracts/model-family.ts'
import { readTokenizerFolder, type TokenizerFiles } from '#libs/tokenizer-files/tokenizer-files.ts'
import { createTokenizer, type Tokenizer } from './tokenizer.ts'

export type LoadedFamily = {
  readonly family: ModelFamily
  /** Of the tokenizer's files. */
  readonly folder: string
  readonly tokenizer: Tokenizer
}

/** Loads `<modelsFolder>/<name>.json` and the tokenizer that it names. Throws an error that names the file. */
export async function loadModelFamily(
  modelsFolder: string,
  name: string,
  toTokenizer: (files: TokenizerFiles) => Promise<Tokenizer> = createTokenizer,
): Promise<LoadedFamily> {
  const path = join(modelsFolder, `${name}.json`)
  const family = await readFamily(path)
  const folder = join(modelsFolder, family.tokenizer)
  return { family, folder, tokenizer: await readTokenizer(folder, toTokenizer) }
}

async function readFamily(path: string): Promise<ModelFamily> {
  try {
    return ModelFamily.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (cause) {
    throw new Error(`${path} is no model family`, { cause })
  }
}

async function readTokenizer(
  folder: string,
  toTokenizer: (files: TokenizerFiles) => Promise<Tokenizer>,
): Promise<Tokenizer> {
  const files = await readTokenizerFolder(folder)
  try {
    return await toTokenizer(files)
  } catch (cause) {
    throw new Error(`the tokenizer in ${folder} cannot be used`, { cause })
  }
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTokenizer, type Tokenizer } from '#libs/tokenizer/tokenizer.ts'

const loaded = new Map<string, Promise<Tokenizer>>()

/** Loads the tokenizer of a model's folder, once for all tests of this process. */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const tokenizer = loaded.get(folder) ?? load(folder)
  loaded.set(folder, tokenizer)
  return await tokenizer
}

async function load(folder: string): Promise<Tokenizer> {
  return await createTokenizer(await readFile(join(folder, 'tokenizer.json'), 'utf8'))
}

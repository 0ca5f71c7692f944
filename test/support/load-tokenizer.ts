import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTokenizer, type Tokenizer } from '#libs/tokenizer/tokenizer.ts'

/** The tokenizer of a model's folder. */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  return await createTokenizer(await readFile(join(folder, 'tokenizer.json'), 'utf8'))
}

import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** What a model's owner publishes beside the weights, by name. */
export type TokenizerFiles = ReadonlyMap<string, Buffer>

/** The names that are read, here and by `createTokenizer`. */
const NAMES: ReadonlySet<string> = new Set([
  'tokenizer.json',
  'tokenizer_config.json',
  'config.json',
  'generation_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'chat_template.json',
])

export const isTokenizerFile = (name: string): boolean => NAMES.has(name)

/** Throws an error that names the folder or the file. */
export async function readTokenizerFolder(folder: string): Promise<TokenizerFiles> {
  const names = (await listFolder(folder)).filter(isTokenizerFile).sort()
  if (!names.includes('tokenizer.json')) throw new Error(`there is no ${join(folder, 'tokenizer.json')}`)
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)),
  )
}

async function listFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (cause) {
    throw new Error(`the folder ${folder} cannot be read`, { cause })
  }
}

/** Equal for equal files, wherever they come from: SHA-256, in hex. */
export function hashTokenizerFiles(files: TokenizerFiles): string {
  const hash = createHash('sha256')
  for (const [name, data] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${name}\0${data.length}\0`).update(data)
  }
  return hash.digest('hex')
}

import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** The small files that a model's owner publishes beside the weights, by name. */
export type ModelFiles = ReadonlyMap<string, Buffer>

/** The files that `createModel` reads. */
const NAMES: ReadonlySet<string> = new Set([
  'tokenizer.json',
  'tokenizer_config.json',
  'config.json',
  'generation_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'chat_template.json',
])

export const isModelFile = (name: string): boolean => NAMES.has(name)

/** Reads the model's files from a folder. Throws an error that names the folder or the file. */
export async function readModelFolder(folder: string): Promise<ModelFiles> {
  const names = (await listFolder(folder)).filter(isModelFile).sort()
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

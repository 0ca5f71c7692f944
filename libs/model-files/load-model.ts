import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ModelFamily, type SamplingDefaults } from '#libs/dialect/family.ts'
import { ModelFiles } from './model-files.ts'
import { readTokenizerFolder, type TokenizerFiles } from './tokenizer-files.ts'
import { toEndIds } from './end-ids.ts'
import { createTokenizer, type Tokenizer } from '#libs/tokenizer/tokenizer.ts'

export type LoadedModel = {
  readonly family: ModelFamily
  /** Of the tokenizer's files; null where they came from elsewhere. */
  readonly folder: string | null
  readonly tokenizer: Tokenizer
  /** Ids that end a turn, by the model's own files or by its family. */
  readonly endIds: ReadonlySet<number>
  /** For what a request leaves open: of the model's own generation_config.json; where it has none, of its family. */
  readonly samplingDefaults: SamplingDefaults
}

/**
 * Loads `<modelsFolder>/<name>.json`, the family that it names, and the tokenizer of its folder; where it names none,
 * of `fetchFiles`. A chat template that it names replaces theirs. Throws an error that names the file.
 */
export async function loadModel(
  modelsFolder: string,
  name: string,
  options: {
    readonly toTokenizer?: (files: TokenizerFiles) => Promise<Tokenizer>
    readonly fetchFiles?: () => Promise<TokenizerFiles>
  } = {},
): Promise<LoadedModel> {
  const { toTokenizer = createTokenizer, fetchFiles } = options
  const parts = await readModelFiles(modelsFolder, name)
  const family = await readFamily(modelsFolder, parts.family)
  const folder = parts.folder === undefined ? null : join(modelsFolder, parts.folder)
  const template = await readTemplate(modelsFolder, parts.chatTemplate)
  const found = folder === null ? await fetchFiles?.() : await readTokenizerFolder(folder)
  if (found === undefined) {
    throw new Error(`${join(modelsFolder, name)}.json names no folder, and there is no engine to ask`)
  }
  const files = template === null ? found : new Map([...found, [TEMPLATE_FILE, template]])
  try {
    const tokenizer = await toTokenizer(files)
    return {
      family,
      folder,
      tokenizer,
      endIds: toEndIds(tokenizer, family),
      samplingDefaults: tokenizer.samplingDefaults ?? family.defaults,
    }
  } catch (error) {
    throw new Error(`the tokenizer of ${join(modelsFolder, name)}.json cannot be used: ${toReason(error)}`, {
      cause: error,
    })
  }
}

export async function readModelFiles(modelsFolder: string, name: string): Promise<ModelFiles> {
  return await readAs(ModelFiles, join(modelsFolder, `${name}.json`))
}

export async function readFamily(modelsFolder: string, name: string): Promise<ModelFamily> {
  return await readAs(ModelFamily, join(modelsFolder, 'families', `${name}.json`))
}

async function readTemplate(modelsFolder: string, path: string | undefined): Promise<Buffer | null> {
  if (path === undefined) return null
  const file = join(modelsFolder, path)
  try {
    return await readFile(file)
  } catch (cause) {
    throw new Error(`${file} cannot be read`, { cause })
  }
}

/** Goes before every other place of a chat template. */
const TEMPLATE_FILE = 'chat_template.jinja'

async function readAs<Schema extends z.ZodType>(schema: Schema, path: string): Promise<z.infer<Schema>> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (cause) {
    throw new Error(`${path} cannot be used: ${toReason(cause)}`, { cause })
  }
}

/** In one line. */
function toReason(error: unknown): string {
  if (error instanceof z.ZodError) {
    return error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ')
  }
  return error instanceof Error ? error.message : String(error)
}

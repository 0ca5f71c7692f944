import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { probeShapes } from '#libs/chat-template/chat-renderer.ts'
import { openCallWriter } from '#libs/dialect/write-calls.ts'
import { ModelFamily, type SamplingDefaults } from '#libs/dialect/family.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { readModelFolder, type ModelFiles } from './model-files.ts'
import { ModelManifest } from './model-manifest.ts'
import { createModel, type Model } from './model.ts'
import { toEndIds } from './to-end-ids.ts'

/** A model and its family. */
export type LoadedModel = Model & {
  readonly family: ModelFamily
  /** The folder of the model's files; null if they were fetched from an engine. */
  readonly folder: string | null
  /** The ids that end a turn of the conversation, by the model's own files or by its family. */
  readonly endIds: ReadonlySet<number>
  /**
   * Defaults for parameters that a request omits. They come from generation_config.json, or from the family if the
   * model does not have this file.
   */
  readonly samplingDefaults: SamplingDefaults
}

/**
 * Loads the manifest `<modelsFolder>/<name>.json`, the family that it names, and the model's files. The files come from
 * the folder that the manifest names, or from `fetchFiles` if it names no folder. A chat template that the manifest
 * names replaces the templates in these files. If a file cannot be used, rejects with an error that names either this
 * file or the manifest.
 */
export async function loadModel(
  modelsFolder: string,
  name: string,
  options: {
    readonly toTokenizer?: (json: string) => Promise<Tokenizer>
    readonly fetchFiles?: () => Promise<ModelFiles>
  } = {},
): Promise<LoadedModel> {
  const { toTokenizer, fetchFiles } = options
  const path = join(modelsFolder, `${name}.json`)
  const manifest = await readManifest(modelsFolder, name)
  const family = await readFamily(modelsFolder, manifest.family)
  const folder = manifest.folder === undefined ? null : join(modelsFolder, manifest.folder)
  const template = await readTemplate(modelsFolder, manifest.chatTemplate)
  const found = folder === null ? await fetchFiles?.() : await readModelFolder(folder)
  if (found === undefined) throw new Error(`${path} names no folder, and there is no engine to ask`)
  const files = template === null ? found : new Map([...found, [TEMPLATE_FILE, template]])
  try {
    const model = await createModel(files, toTokenizer)
    const shapes = probeShapes(model.template, { writeCalls: openCallWriter(family.toolCalls) })
    return {
      ...model,
      template: { ...model.template, shapes },
      family,
      folder,
      endIds: toEndIds(model, family),
      samplingDefaults: model.generationDefaults ?? family.defaults,
    }
  } catch (error) {
    throw new Error(`the files of ${path} cannot be used: ${toReason(error)}`, { cause: error })
  }
}

export async function readManifest(modelsFolder: string, name: string): Promise<ModelManifest> {
  return await readAs(ModelManifest, join(modelsFolder, `${name}.json`))
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

/** A template in this file takes precedence over every other chat template of the model. */
const TEMPLATE_FILE = 'chat_template.jinja'

async function readAs<Schema extends z.ZodType>(schema: Schema, path: string): Promise<z.infer<Schema>> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (cause) {
    throw new Error(`${path} cannot be used: ${toReason(cause)}`, { cause })
  }
}

/** Returns one line; a ZodError's own message is many lines of JSON. */
function toReason(error: unknown): string {
  if (error instanceof z.ZodError) {
    return error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ')
  }
  return error instanceof Error ? error.message : String(error)
}

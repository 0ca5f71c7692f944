import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { CatalogFile, type ModelSpec } from '#libs/contracts/model-spec.ts'

/** The value of an environment variable: the paths of catalog files, separated by commas. */
export const CatalogPaths = z
  .string()
  .transform((text) => text.split(',').map((path) => path.trim()))
  .pipe(z.array(z.string().min(1, 'expected file names, separated by commas')))

/**
 * Reads and checks catalog files as one catalog, in their order. Throws an Error that names the file and the problem;
 * a model id in two files is a problem as well.
 */
export async function readCatalogFiles(paths: readonly string[]): Promise<ModelSpec[]> {
  const models = new Map<string, ModelSpec>()
  for (const path of paths) {
    for (const model of await readFileOfModels(path)) {
      if (models.has(model.id))
        throw new Error(`${path} has the model ${model.id}, which an earlier file has too`)
      models.set(model.id, model)
    }
  }
  return [...models.values()]
}

async function readFileOfModels(path: string): Promise<readonly ModelSpec[]> {
  const text = await readFile(path, 'utf8')
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    throw new Error(`${path} is not JSON`, { cause: error })
  }
  const result = CatalogFile.safeParse(content)
  if (!result.success) throw new Error(`${path} is not a catalog: ${z.prettifyError(result.error)}`)
  return result.data.models
}

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CatalogFile } from '#libs/contracts/model-spec.ts'
import { scratchFolder } from '../../test/support/run-folder.ts'

type Spec = CatalogFile['models'][number]

/** Writes the demo catalog, in which `change` replaces fields of the model `id`. Returns the file's path. */
export function writeCatalog(id: string, change: Partial<Spec>): string {
  const { models } = CatalogFile.parse(JSON.parse(readFileSync('deploy/catalog.demo.json', 'utf8')))
  const changed = models.map((model) => (model.id === id ? { ...model, ...change } : model))
  const path = join(scratchFolder('catalog'), 'catalog.json')
  writeFileSync(path, JSON.stringify({ models: changed }))
  return path
}

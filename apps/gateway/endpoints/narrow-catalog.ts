import type { Caller } from '../generation/generation-call.ts'
import type { Catalog } from './find-model.ts'

/** The catalog as this caller may see it: to a key with a list of models, the others do not exist. */
export function narrowCatalog(catalog: Catalog, { models }: Pick<Caller, 'models'>): Catalog {
  if (models === null) return catalog
  return {
    list: () => catalog.list().filter(({ id }) => models.has(id)),
    find: (id) => (models.has(id) ? catalog.find(id) : null),
  }
}

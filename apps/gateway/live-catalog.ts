import type { ModelSpec } from '#libs/contracts/model-spec.ts'

export type LiveCatalog = {
  list(): readonly ModelSpec[]
  find(id: string): ModelSpec | null
  /** Billing's whole catalog, as often as it changes. An empty one is an answer. */
  replace(models: readonly ModelSpec[]): void
  isLive(): boolean
}

/**
 * The catalog as billing last told it. `fallback` is what is known before billing was reached for the first
 * time; afterwards the last live catalog is better than any file, also while billing is away.
 */
export function createLiveCatalog(fallback: readonly ModelSpec[]): LiveCatalog {
  let models = fallback
  let byId = index(models)
  let live = false
  return {
    list: () => models,
    find: (id) => byId.get(id) ?? null,
    replace(next) {
      live = true
      models = next
      byId = index(models)
    },
    isLive: () => live,
  }
}

const index = (models: readonly ModelSpec[]) => new Map(models.map((model) => [model.id, model]))

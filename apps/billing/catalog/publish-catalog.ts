import { sql, type Kysely } from 'kysely'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Tables } from '../database/tables.ts'
import { readPublishedModels, type PublishedModel } from './read-catalog.ts'

/** A changed field of a model. `before` is null for a new model. */
export type CatalogChange = {
  readonly model: string
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

export type Publication =
  | { readonly status: 'published'; readonly changes: readonly CatalogChange[] }
  /**
   * Returned for a change that cannot be scheduled for a later time. Only new prices and new models can be scheduled. A
   * model's other fields have no versions.
   */
  | { readonly status: 'not-schedulable'; readonly change: CatalogChange }
  /** Returned if the model already has a price from exactly that time on; a price never changes. */
  | { readonly status: 'price-taken'; readonly model: string }

const PRICES = ['inputPriceNano', 'cachedInputPriceNano', 'outputPriceNano'] as const

/** The fields of a model besides its id and prices. */
const TRAITS = [
  'created',
  'ownedBy',
  'kind',
  'contextWindow',
  'maxOutputTokens',
  'embedding',
  'tools',
  'reasoning',
  'defaultEffort',
  'fixedState',
  'enabled',
] as const

/** Models that stay as they are although a publication lacks them: these ids, or all. */
export type KeptModels = 'all' | readonly string[]

/**
 * Makes `models` the catalog from `effectiveAt` on. New and changed models become rows, and changed prices become new
 * price versions. A published model that is neither in `models` nor in `keep` is disabled. It is not deleted, because
 * reservations still name it. Publishing the same catalog again changes nothing. If something changed, the catalog's
 * version is raised and watchers are notified. With `dryRun` the function only returns the changes. It runs in the
 * caller's transaction, and other publications wait until this transaction ends.
 */
export async function publishCatalog(
  transaction: Kysely<Tables>,
  options: {
    models: readonly ModelSpec[]
    keep: KeptModels
    now: Date
    effectiveAt: Date
    dryRun: boolean
  },
): Promise<Publication> {
  const { keep, now, effectiveAt, dryRun } = options
  await sql`select from change_counters where name = 'catalog' for update`.execute(transaction)
  const published = await readPublishedModels(transaction, effectiveAt)
  const models = options.models.map(normalizePrices)
  const known = new Map(published.map((model) => [model.traits.id, model]))
  const changes = [
    ...models.flatMap((model) => compare(known.get(model.id), model)),
    ...(keep === 'all' ? [] : disable(published, [...models.map(({ id }) => id), ...keep])),
  ]

  const isLater = effectiveAt > now
  const unschedulable = changes.find(({ model, field }) => isLater && known.has(model) && !isPrice(field))
  if (unschedulable !== undefined) return { status: 'not-schedulable', change: unschedulable }
  const dearer = new Set(changes.filter(({ field }) => isPrice(field)).map(({ model }) => model))
  const taken = published.find(
    ({ traits, price }) => dearer.has(traits.id) && price?.effectiveFrom.getTime() === effectiveAt.getTime(),
  )
  if (taken !== undefined) return { status: 'price-taken', model: taken.traits.id }
  if (dryRun || changes.length === 0) return { status: 'published', changes }

  const changed = new Set(changes.filter(({ field }) => !isPrice(field)).map(({ model }) => model))
  for (const model of models) {
    if (changed.has(model.id)) await writeModel(transaction, model)
    if (dearer.has(model.id)) await writePrices(transaction, model, effectiveAt)
    changed.delete(model.id)
  }
  if (changed.size > 0) {
    await transaction
      .updateTable('models')
      .set({ enabled: false })
      .where('id', 'in', [...changed])
      .execute()
  }
  await notifyWatchers(transaction)
  return { status: 'published', changes }
}

/**
 * Notifies every gateway, which then reads the catalog again. The notification is sent when the transaction commits.
 */
export async function notifyWatchers(db: Kysely<Tables>): Promise<void> {
  await sql`select pg_notify('millrace_catalog', next_version('catalog')::text)`.execute(db)
}

/** Writes prices without leading zeros: `007` is the price 7. */
function normalizePrices(model: ModelSpec): ModelSpec {
  const toText = (price: string) => BigInt(price).toString()
  return {
    ...model,
    inputPriceNano: toText(model.inputPriceNano),
    cachedInputPriceNano: toText(model.cachedInputPriceNano),
    outputPriceNano: toText(model.outputPriceNano),
  }
}

function compare(before: PublishedModel | undefined, after: ModelSpec): CatalogChange[] {
  const traits = TRAITS.map((field) => ({
    model: after.id,
    field,
    before: before?.traits[field] ?? null,
    after: after[field],
  }))
  const prices = PRICES.map((field) => ({
    model: after.id,
    field,
    before: before?.price?.[field] ?? null,
    after: after[field],
  }))
  return [...traits, ...prices].filter(
    (change) => JSON.stringify(change.before) !== JSON.stringify(change.after),
  )
}

function disable(published: readonly PublishedModel[], others: readonly string[]): CatalogChange[] {
  const wanted = new Set(others)
  return published
    .filter(({ traits }) => traits.enabled && !wanted.has(traits.id))
    .map(({ traits }) => ({ model: traits.id, field: 'enabled', before: true, after: false }))
}

function isPrice(field: string): boolean {
  return PRICES.some((price) => price === field)
}

async function writeModel(db: Kysely<Tables>, model: ModelSpec): Promise<void> {
  const traits = {
    kind: model.kind,
    created_s: BigInt(model.created),
    owned_by: model.ownedBy,
    context_window: model.contextWindow,
    max_output: model.maxOutputTokens,
    embedding_dimensions: model.embedding?.dimensions ?? null,
    matryoshka: model.embedding?.matryoshka ?? null,
    tools: model.tools,
    reasoning: model.reasoning,
    default_effort: model.defaultEffort,
    fixed_state: model.fixedState,
    enabled: model.enabled,
  }
  await db
    .insertInto('models')
    .values({ id: model.id, ...traits })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(traits))
    .execute()
}

async function writePrices(db: Kysely<Tables>, model: ModelSpec, effectiveFrom: Date): Promise<void> {
  await db
    .insertInto('price_versions')
    .values({
      model: model.id,
      effective_from: effectiveFrom,
      input_price: BigInt(model.inputPriceNano),
      cached_input_price: BigInt(model.cachedInputPriceNano),
      output_price: BigInt(model.outputPriceNano),
    })
    .execute()
}

import { sql, type Kysely, type Selectable } from 'kysely'
import type { Pool } from 'pg'
import { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Tables } from '../database/tables.ts'
import { toKysely } from '../database/to-kysely.ts'

export type PriceVersion = {
  readonly id: bigint
  readonly effectiveFrom: Date
  readonly inputPriceNano: string
  readonly cachedInputPriceNano: string
  readonly outputPriceNano: string
}

type Price = 'inputPriceNano' | 'cachedInputPriceNano' | 'outputPriceNano'

/** `price` is null until the model's first price begins. Until then the model cannot be called. */
export type PublishedModel = {
  readonly traits: Omit<ModelSpec, Price>
  readonly price: PriceVersion | null
}

/** Returns all models at the time `at`, disabled models included, ordered by id. */
export async function readPublishedModels(db: Kysely<Tables>, at: Date): Promise<PublishedModel[]> {
  const rows = await db
    .selectFrom('models as m')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('price_versions as v')
          .select([
            'v.id as price_id',
            'v.effective_from',
            'v.input_price',
            'v.cached_input_price',
            'v.output_price',
          ])
          .whereRef('v.model', '=', 'm.id')
          .where('v.effective_from', '<=', at)
          .orderBy('v.effective_from', 'desc')
          .limit(1)
          .as('p'),
      (join) => join.onTrue(),
    )
    .selectAll()
    .orderBy(sql`m.id collate "C"`)
    .execute()
  return rows.map((row) => ({ traits: toTraits(row), price: toPrice(row) }))
}

/** Returns all models that have a price at the time `at`, disabled models included, ordered by id. */
export async function readModels(db: Kysely<Tables>, at: Date): Promise<ModelSpec[]> {
  const published = await readPublishedModels(db, at)
  return published.flatMap(({ traits, price }) => {
    if (price === null) return []
    const { id: _id, effectiveFrom: _from, ...prices } = price
    return [ModelSpec.parse({ ...traits, ...prices })]
  })
}

/** Returns the catalog and its version, read in one snapshot. */
export async function readCatalog(
  pool: Pool,
  nowMs: number,
): Promise<{ version: bigint; models: ModelSpec[] }> {
  return await toKysely(pool)
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (transaction) => {
      const { rows } = await sql<{ version: bigint }>`
        select version from change_counters where name = 'catalog'`.execute(transaction)
      const version = rows[0]?.version
      if (version === undefined) throw new Error('the catalog has no version')
      return { version, models: await readModels(transaction, new Date(nowMs)) }
    })
}

function toTraits(row: Selectable<Tables['models']>): PublishedModel['traits'] {
  const { embedding_dimensions: dimensions, matryoshka } = row
  return {
    id: row.id,
    created: Number(row.created_s),
    ownedBy: row.owned_by,
    kind: row.kind,
    contextWindow: row.context_window,
    maxOutputTokens: row.max_output,
    embedding: dimensions === null || matryoshka === null ? null : { dimensions, matryoshka },
    tools: row.tools,
    reasoning: row.reasoning,
    defaultEffort: row.default_effort,
    fixedState: row.fixed_state,
    enabled: row.enabled,
  }
}

type PriceRow = {
  price_id: bigint | null
  effective_from: Date | null
  input_price: bigint | null
  cached_input_price: bigint | null
  output_price: bigint | null
}

function toPrice(row: PriceRow): PriceVersion | null {
  const { price_id: id, effective_from: effectiveFrom } = row
  if (id === null || effectiveFrom === null) return null
  return {
    id,
    effectiveFrom,
    inputPriceNano: String(row.input_price),
    cachedInputPriceNano: String(row.cached_input_price),
    outputPriceNano: String(row.output_price),
  }
}

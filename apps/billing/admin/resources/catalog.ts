import type { Kysely, Selectable } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { CatalogChange, PriceVersion } from '#libs/admin-contract/resources/catalog.ts'
import { publishCatalog as publish, type Publication } from '../../catalog/publish-catalog.ts'
import { readModels } from '../../catalog/read-catalog.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { implementChange, implementRead } from '../implement.ts'
import { toPage, toSeq } from '../list-page.ts'

/** The most scheduled prices in an answer; no catalog has as many. */
const MAX_SCHEDULED = 1_000

const readCatalog = implementRead(ADMIN.readCatalog, async (_asked, { db, now }) => {
  const scheduled = await db
    .selectFrom('price_versions')
    .selectAll()
    .where('effective_from', '>', now)
    .orderBy('effective_from')
    .orderBy('id')
    .limit(MAX_SCHEDULED)
    .execute()
  return { models: await readModels(db, now), scheduled: scheduled.map(toPriceVersion) }
})

const listPriceVersions = implementRead(
  ADMIN.listPriceVersions,
  async ({ query: { model, limit, cursor } }, { db }) => {
    if (model !== undefined) await assertModel(db, model)
    let versions = db
      .selectFrom('price_versions')
      .selectAll()
      .orderBy('id', 'desc')
      .limit(limit + 1)
    if (model !== undefined) versions = versions.where('model', '=', model)
    if (cursor !== undefined) versions = versions.where('id', '<', toSeq(cursor))
    return toPage(await versions.execute(), limit, {
      item: toPriceVersion,
      cursor: ({ id }) => id.toString(),
    })
  },
)

const publishCatalog = implementChange(
  ADMIN.publishCatalog,
  async ({ query: { dryRun = false }, body }, { db, now }) => {
    const { models, keep = [], effectiveAt = now, reason } = body
    if (effectiveAt < now) {
      throw new AdminError('invalid_request', "'effectiveAt': expected a time in the future", 'effectiveAt')
    }
    const changes = assertPublished(await publish(db, { models, keep, now, effectiveAt, dryRun }))
    const answer = { dryRun, effectiveAt: effectiveAt.toISOString(), changes: [...changes] }
    const audit = { target: 'catalog', reason, details: { effectiveAt: answer.effectiveAt, changes } }
    return { answer, audit: dryRun || changes.length === 0 ? null : audit }
  },
)

export const CATALOG_OPERATIONS = { readCatalog, listPriceVersions, publishCatalog }

/** Throws an AdminError if the model was never in the catalog. */
export async function assertModel(db: Kysely<Tables>, model: string): Promise<void> {
  const known = await db.selectFrom('models').select('id').where('id', '=', model).executeTakeFirst()
  if (known === undefined) throw new AdminError('not_found', `There is no model ${model}.`, 'model')
}

function assertPublished(publication: Publication): readonly CatalogChange[] {
  switch (publication.status) {
    case 'published':
      return publication.changes
    case 'not-schedulable': {
      const { model, field } = publication.change
      const problem = `Only prices and new models can be scheduled; ${field} of ${model} would change.`
      throw new AdminError('invalid_request', problem, 'effectiveAt')
    }
    case 'price-taken': {
      const problem = `${publication.model} has another price from exactly that time on, and a published price cannot change.`
      throw new AdminError('conflict', problem, 'effectiveAt')
    }
  }
}

function toPriceVersion(row: Selectable<Tables['price_versions']>): PriceVersion {
  return {
    id: row.id.toString(),
    model: row.model,
    effectiveFrom: row.effective_from.toISOString(),
    inputPriceNano: row.input_price.toString(),
    cachedInputPriceNano: row.cached_input_price.toString(),
    outputPriceNano: row.output_price.toString(),
  }
}

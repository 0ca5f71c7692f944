import type { Kysely, Selectable } from 'kysely'
import { z } from 'zod'
import { CatalogFile, ModelSpec } from '#libs/contracts/model-spec.ts'
import { publishCatalog as publish, type Publication } from '../../catalog/publish-catalog.ts'
import { readModels } from '../../catalog/read-catalog.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../admin-error.ts'
import { Flag, ModelId, Nano, Reason, Time, TimeInput } from '../fields.ts'
import { NOTHING, defineChange, defineRead } from '../operation.ts'
import { Limit, SeqCursor, pageOf, toPage } from '../page.ts'

/** More scheduled prices than any catalog has. */
const MAX_SCHEDULED = 1_000

const PriceVersion = z
  .object({
    id: z.string(),
    model: z.string(),
    effectiveFrom: Time,
    inputPriceNano: Nano,
    cachedInputPriceNano: Nano,
    outputPriceNano: Nano,
  })
  .meta({ id: 'PriceVersion', description: 'Prices are nano-credits per 1,000,000 tokens.' })

const Change = z
  .object({
    model: z.string(),
    field: z.string(),
    before: z.unknown().meta({ description: 'Null of a model that was not there.' }),
    after: z.unknown(),
  })
  .meta({ id: 'CatalogChange' })

const readCatalog = defineRead({
  id: 'readCatalog',
  method: 'GET',
  url: '/catalog',
  summary: 'Shows the catalog as it is now, in the form in which it is published, and the prices to come.',
  path: NOTHING,
  query: NOTHING,
  body: NOTHING,
  answer: z.object({ models: z.array(ModelSpec), scheduled: z.array(PriceVersion) }).meta({ id: 'Catalog' }),
  errors: [],
  async run(_asked, { db, now }) {
    const scheduled = await db
      .selectFrom('price_versions')
      .selectAll()
      .where('effective_from', '>', now)
      .orderBy('effective_from')
      .orderBy('id')
      .limit(MAX_SCHEDULED)
      .execute()
    return { models: await readModels(db, now), scheduled: scheduled.map(toPriceVersion) }
  },
})

const listPriceVersions = defineRead({
  id: 'listPriceVersions',
  method: 'GET',
  url: '/price-versions',
  summary: 'Lists prices as they were, are and will be, the latest published first.',
  path: NOTHING,
  query: z.strictObject({ model: ModelId.optional(), limit: Limit, cursor: SeqCursor.optional() }),
  body: NOTHING,
  answer: pageOf('PriceVersionPage', PriceVersion),
  errors: ['not_found'],
  async run({ query: { model, limit, cursor } }, { db }) {
    if (model !== undefined) await assertModel(db, model)
    let versions = db
      .selectFrom('price_versions')
      .selectAll()
      .orderBy('id', 'desc')
      .limit(limit + 1)
    if (model !== undefined) versions = versions.where('model', '=', model)
    if (cursor !== undefined) versions = versions.where('id', '<', cursor)
    return toPage(await versions.execute(), limit, {
      item: toPriceVersion,
      cursor: ({ id }) => id.toString(),
    })
  },
})

const publishCatalog = defineChange({
  id: 'publishCatalog',
  method: 'POST',
  url: '/catalog',
  status: 200,
  summary: 'Makes the catalog what the body says; a model that it lacks is disabled.',
  description:
    'A changed price becomes a new price version: requests under way keep theirs. With effectiveAt in the future only prices and new models may differ. With dryRun=true it only tells what would change. What was published stays until the catalog files of the deployment say something new.',
  path: NOTHING,
  query: z.strictObject({ dryRun: Flag.optional() }),
  body: CatalogFile.safeExtend({
    effectiveAt: TimeInput.optional().meta({ description: 'Now, unless told.' }),
    reason: Reason.optional(),
  }),
  answer: z
    .object({ dryRun: z.boolean(), effectiveAt: Time, changes: z.array(Change) })
    .meta({ id: 'Publication' }),
  errors: ['conflict', 'request_too_large'],
  async run({ query: { dryRun = false }, body }, { db, now }) {
    const { models, effectiveAt = now, reason } = body
    if (effectiveAt < now) {
      throw new AdminError('invalid_request', "'effectiveAt': expected a time in the future", 'effectiveAt')
    }
    const changes = assertPublished(await publish(db, { models, now, effectiveAt, dryRun }))
    const answer = { dryRun, effectiveAt: effectiveAt.toISOString(), changes: [...changes] }
    const audit = { target: 'catalog', reason, details: { effectiveAt: answer.effectiveAt, changes } }
    return { answer, audit: dryRun || changes.length === 0 ? null : audit }
  },
})

export const CATALOG_OPERATIONS = [readCatalog, listPriceVersions, publishCatalog] as const

/** Throws an AdminError when the catalog never had the model. */
export async function assertModel(db: Kysely<Tables>, model: string): Promise<void> {
  const known = await db.selectFrom('models').select('id').where('id', '=', model).executeTakeFirst()
  if (known === undefined) throw new AdminError('not_found', `There is no model ${model}.`, 'model')
}

function assertPublished(publication: Publication): readonly z.input<typeof Change>[] {
  switch (publication.status) {
    case 'published':
      return publication.changes
    case 'not-schedulable': {
      const { model, field } = publication.change
      const problem = `Only prices and new models can begin later; ${field} of ${model} would change.`
      throw new AdminError('invalid_request', problem, 'effectiveAt')
    }
    case 'price-taken': {
      const problem = `${publication.model} has another price from exactly that time on, and a price never changes.`
      throw new AdminError('conflict', problem, 'effectiveAt')
    }
  }
}

function toPriceVersion(row: Selectable<Tables['price_versions']>): z.input<typeof PriceVersion> {
  return {
    id: row.id.toString(),
    model: row.model,
    effectiveFrom: row.effective_from.toISOString(),
    inputPriceNano: row.input_price.toString(),
    cachedInputPriceNano: row.cached_input_price.toString(),
    outputPriceNano: row.output_price.toString(),
  }
}

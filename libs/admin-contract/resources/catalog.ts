import { z } from 'zod'
import { CatalogFile, ModelSpec } from '#libs/contracts/model-spec.ts'
import { Flag, ModelId, Nano, Reason, Time, TimeInput, Whole } from '../fields.ts'
import { defineChange, defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL, SERVICE } from '../roles.ts'

export const PriceVersion = z
  .object({
    id: Whole,
    model: z.string(),
    effectiveFrom: Time,
    inputPriceNano: Nano,
    cachedInputPriceNano: Nano,
    outputPriceNano: Nano,
  })
  .meta({ id: 'PriceVersion', description: 'Prices are nano-credits per 1,000,000 tokens.' })
export type PriceVersion = z.infer<typeof PriceVersion>

const CatalogChange = z
  .object({
    model: z.string(),
    field: z.string(),
    before: z.unknown().meta({ description: 'Null for a new model.' }),
    after: z.unknown(),
  })
  .meta({ id: 'CatalogChange' })
export type CatalogChange = z.infer<typeof CatalogChange>

/** The most ids in `keep`; no catalog has as many models. */
const MAX_KEPT = 10_000

export const CATALOG = {
  readCatalog: defineRead({
    path: '/catalog',
    summary: 'Shows the current catalog, in the form in which it is published, and the prices to come.',
    roles: ALL,
    answer: z
      .object({ models: z.array(ModelSpec), scheduled: z.array(PriceVersion) })
      .meta({ id: 'Catalog' }),
  }),

  listPriceVersions: defineRead({
    path: '/price-versions',
    summary: 'Lists past, current and future prices, the latest published first.',
    roles: ALL,
    query: z.strictObject({ model: ModelId.optional(), ...PAGE }),
    answer: pageOf('PriceVersionPage', PriceVersion),
    errors: ['not_found'],
  }),

  publishCatalog: defineChange({
    method: 'POST',
    path: '/catalog',
    summary: 'Replaces the catalog by the body; a model that the body lacks and does not keep is disabled.',
    description:
      'A changed price becomes a new price version: requests under way keep theirs. With effectiveAt in the future only prices and new models may differ. With dryRun=true the answer lists the changes and none is made. A published catalog stays until the catalog files of the deployment change.',
    roles: SERVICE,
    query: z.strictObject({ dryRun: Flag.optional() }),
    body: CatalogFile.safeExtend({
      keep: z
        .union([z.literal('all'), z.array(ModelId).max(MAX_KEPT)])
        .optional()
        .meta({ description: 'Models that stay as they are although the body lacks them: ids, or "all".' }),
      effectiveAt: TimeInput.optional().meta({ description: 'Default: now.' }),
      reason: Reason.optional(),
    }),
    answer: z
      .object({ dryRun: z.boolean(), effectiveAt: Time, changes: z.array(CatalogChange) })
      .meta({ id: 'Publication' }),
    errors: ['conflict'],
  }),
}

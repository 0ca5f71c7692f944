import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { toKysely } from '../database/to-kysely.ts'
import { publishCatalog } from './publish-catalog.ts'

/**
 * Publishes the catalog files if they have changed since they were last loaded. If they have not changed, the catalog
 * that operators have published since then stays in force. Replicas that start together do this one after another.
 */
export async function loadCatalog(options: {
  pool: Pool
  models: readonly ModelSpec[]
  nowMs: number
  log: Logger
}): Promise<void> {
  const { pool, models, nowMs, log } = options
  const now = new Date(nowMs)
  const sha256 = createHash('sha256').update(JSON.stringify(models)).digest()
  await toKysely(pool)
    .transaction()
    .execute(async (transaction) => {
      await sql`select from change_counters where name = 'catalog' for update`.execute(transaction)
      const last = await transaction.selectFrom('catalog_file').select('sha256').executeTakeFirst()
      if (last?.sha256.equals(sha256) === true) return
      const publication = await publishCatalog(transaction, {
        models,
        keep: [],
        now,
        effectiveAt: now,
        dryRun: false,
      })
      if (publication.status !== 'published') {
        throw new Error(`the catalog files could not be published: ${publication.status}`)
      }
      await transaction
        .insertInto('catalog_file')
        .values({ sha256 })
        .onConflict((conflict) => conflict.column('only_row').doUpdateSet({ sha256 }))
        .execute()
      const { length: changes } = publication.changes
      if (changes > 0) log.info({ changes, models: models.length }, 'catalog changed')
    })
}

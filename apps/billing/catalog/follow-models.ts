import type { Pool } from 'pg'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { VersionWatch } from '../database/watch-versions.ts'

/**
 * Keeps the ids of all models that were ever in the catalog, also disabled models, because their settlements may still
 * arrive. The version watch updates the ids. Rejects when the first read fails.
 */
export async function followModels(deps: {
  pool: Pool
  versions: VersionWatch
  log: Logger
}): Promise<{ current: () => readonly string[]; stop: () => void }> {
  const { pool, versions, log } = deps
  let models: readonly string[] = await readModelIds(pool)

  async function refresh() {
    try {
      models = await readModelIds(pool)
    } catch (error) {
      log.warn({ err: error }, 'the list of models could not be read, keeping the last one')
    }
  }

  const stop = versions.subscribe('catalog', () => void refresh())
  return { current: () => models, stop }
}

async function readModelIds(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('select id from models order by id')
  return rows.map(({ id }) => id)
}

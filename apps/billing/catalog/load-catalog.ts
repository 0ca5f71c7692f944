import type { Pool, PoolClient } from 'pg'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { inTransaction } from '../database/open-pool.ts'
import { readModels } from './read-catalog.ts'

/**
 * Makes the database's catalog what the catalog files say: new and changed models become rows, changed prices new
 * price versions from `nowMs` on, and models that they no longer have are disabled, because reservations still
 * name them. Counts the catalog's version up, and so tells every watcher, only if something changed.
 */
export async function loadCatalog(options: {
  pool: Pool
  models: readonly ModelSpec[]
  nowMs: number
  log: Logger
}): Promise<void> {
  const { pool, models, nowMs, log } = options
  await inTransaction(pool, async (client) => {
    // Replicas that start together take turns.
    await client.query("select from change_counters where name = 'catalog' for update")
    const known = new Map((await readModels(client, nowMs)).map((model) => [model.id, model]))
    let changes = 0
    for (const model of models) {
      const before = known.get(model.id)
      known.delete(model.id)
      if (before === undefined || !hasSameTraits(before, model)) {
        await writeModel(client, model)
        changes += 1
      }
      if (before === undefined || !hasSamePrices(before, model)) {
        await writePrices(client, model, nowMs)
        changes += 1
      }
    }
    for (const model of known.values()) {
      if (!model.enabled) continue
      await client.query('update models set enabled = false where id = $1', [model.id])
      changes += 1
    }
    if (changes === 0) return
    await client.query("select pg_notify('millrace_catalog', next_version('catalog')::text)")
    log.info({ changes, models: models.length }, 'catalog changed')
  })
}

function hasSamePrices(a: ModelSpec, b: ModelSpec): boolean {
  return (
    BigInt(a.inputPriceNano) === BigInt(b.inputPriceNano) &&
    BigInt(a.cachedInputPriceNano) === BigInt(b.cachedInputPriceNano) &&
    BigInt(a.outputPriceNano) === BigInt(b.outputPriceNano)
  )
}

function hasSameTraits(a: ModelSpec, b: ModelSpec): boolean {
  return traits(a).every((value, index) => value === traits(b)[index])
}

/** In the order of `writeModel`'s parameters. */
function traits(model: ModelSpec) {
  return [
    model.id,
    model.kind,
    model.created,
    model.ownedBy,
    model.contextWindow,
    model.maxOutputTokens,
    model.embedding?.dimensions ?? null,
    model.embedding?.matryoshka ?? null,
    model.tools,
    model.reasoning,
    model.defaultEffort,
    model.fixedState,
    model.enabled,
  ]
}

async function writeModel(client: PoolClient, model: ModelSpec): Promise<void> {
  await client.query(
    `insert into models (id, kind, created_s, owned_by, context_window, max_output, embedding_dimensions, matryoshka,
       tools, reasoning, default_effort, fixed_state, enabled)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
     on conflict (id) do update set kind = excluded.kind, created_s = excluded.created_s,
       owned_by = excluded.owned_by, context_window = excluded.context_window, max_output = excluded.max_output,
       embedding_dimensions = excluded.embedding_dimensions, matryoshka = excluded.matryoshka,
       tools = excluded.tools, reasoning = excluded.reasoning, default_effort = excluded.default_effort,
       fixed_state = excluded.fixed_state, enabled = excluded.enabled`,
    traits(model),
  )
}

async function writePrices(client: PoolClient, model: ModelSpec, nowMs: number): Promise<void> {
  await client.query(
    `insert into price_versions (model, effective_from, input_price, cached_input_price, output_price)
     values ($1, $2, $3, $4, $5)`,
    [
      model.id,
      new Date(nowMs).toISOString(),
      model.inputPriceNano,
      model.cachedInputPriceNano,
      model.outputPriceNano,
    ],
  )
}

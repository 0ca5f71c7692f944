import type { Pool, PoolClient } from 'pg'
import { ModelSpec } from '#libs/contracts/model-spec.ts'
import { inTransaction } from '../database/open-pool.ts'

type ModelRow = {
  id: string
  kind: string
  created_s: bigint
  owned_by: string
  context_window: number
  max_output: number
  embedding_dimensions: number | null
  matryoshka: boolean | null
  tools: boolean
  reasoning: boolean
  default_effort: string
  fixed_state: string | null
  enabled: boolean
  input_price: bigint
  cached_input_price: bigint
  output_price: bigint
}

/** Every model that has a price at `nowMs`, disabled ones too, by id. */
export async function readModels(client: PoolClient, nowMs: number): Promise<ModelSpec[]> {
  const { rows } = await client.query<ModelRow>(
    `select m.*, p.input_price, p.cached_input_price, p.output_price
     from models m cross join lateral (
       select * from price_versions v where v.model = m.id and v.effective_from <= $1
       order by v.effective_from desc limit 1
     ) p
     order by m.id`,
    [new Date(nowMs).toISOString()],
  )
  return rows.map((row) =>
    ModelSpec.parse({
      id: row.id,
      created: Number(row.created_s),
      ownedBy: row.owned_by,
      kind: row.kind,
      contextWindow: row.context_window,
      maxOutputTokens: row.max_output,
      embedding:
        row.embedding_dimensions === null
          ? null
          : { dimensions: row.embedding_dimensions, matryoshka: row.matryoshka },
      tools: row.tools,
      reasoning: row.reasoning,
      defaultEffort: row.default_effort,
      inputPriceNano: row.input_price.toString(),
      cachedInputPriceNano: row.cached_input_price.toString(),
      outputPriceNano: row.output_price.toString(),
      fixedState: row.fixed_state,
      enabled: row.enabled,
    }),
  )
}

/** The catalog and its version, as of one moment. */
export async function readCatalog(
  pool: Pool,
  nowMs: number,
): Promise<{ version: bigint; models: ModelSpec[] }> {
  return await inTransaction(pool, async (client) => {
    await client.query('set transaction isolation level repeatable read')
    const { rows } = await client.query<{ version: bigint }>(
      "select version from change_counters where name = 'catalog'",
    )
    const version = rows[0]?.version
    if (version === undefined) throw new Error('the catalog has no version')
    return { version, models: await readModels(client, nowMs) }
  })
}

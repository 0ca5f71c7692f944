import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { z } from 'zod'

/** A settled generation in billing's database. */
const Row = z.object({
  id: z.string(),
  outcome: z.string(),
  promptTokens: z.int(),
  cachedTokens: z.int(),
  completionTokens: z.int(),
  charged: z.coerce.bigint(),
})
export type Row = z.infer<typeof Row>

/** Reads billing's database directly, neither through billing nor through the proxies. */
export type Books = {
  /** Waits until the generation is settled. */
  settled(id: string): Promise<Row>
  /** Returns all settled generations of these accounts, by generation id. */
  all(accounts: readonly string[]): Promise<Map<string, Row>>
  /** Returns the most tokens of one account's failures that were free in a clock hour. */
  mostFreeTokens(): Promise<number>
  openHolds(): Promise<number>
  /** Returns the credits of each account that no hold sets aside. */
  available(accounts: readonly string[]): Promise<Map<string, bigint>>
  /** Returns how many holds of these accounts have grown. */
  grownHolds(accounts: readonly string[]): Promise<number>
  /** The number of settlements that raised an alarm, by kind. */
  alarms(): Promise<Record<string, number>>
  close(): Promise<void>
}

const SETTLED_LIMIT_MS = 20_000

const COLUMNS = `reservation_id as id, outcome, prompt_tokens as "promptTokens", cached_tokens as "cachedTokens",
  completion_tokens as "completionTokens", charged::text as charged`

export function openBooks(databaseUrl: string): Books {
  const pool = new Pool({ connectionString: databaseUrl, max: 4 })
  // The server is killed now and then. A query on a broken connection rejects by itself, so this event can be ignored.
  pool.on('error', () => {})

  async function rows(text: string, values: readonly unknown[] = []): Promise<unknown[]> {
    const { rows } = await pool.query<Record<string, unknown>>(text, [...values])
    return rows
  }

  return {
    async settled(id) {
      const giveUpMs = performance.now() + SETTLED_LIMIT_MS
      for (;;) {
        const [row] = await rows(`select ${COLUMNS} from usage where reservation_id = $1`, [id])
        if (row !== undefined) return Row.parse(row)
        if (performance.now() > giveUpMs) throw new Error(`${id} is not settled`)
        await sleep(50)
      }
    },
    async all(accounts) {
      const found = await rows(`select ${COLUMNS} from usage where account_id = any ($1)`, [accounts])
      return new Map(found.map((row) => Row.parse(row)).map((row) => [row.id, row]))
    },
    async mostFreeTokens() {
      const [row] = await rows(
        `select coalesce(max(tokens), 0)::integer as tokens from (
           select sum(prompt_tokens + completion_tokens) as tokens from usage
           where outcome = 'fault' and cost = 0 group by account_id, date_trunc('hour', settled_at, 'UTC')
         ) as hours`,
      )
      return z.object({ tokens: z.int() }).parse(row).tokens
    },
    async openHolds() {
      const [row] = await rows("select count(*)::integer as count from reservations where state = 'held'")
      return z.object({ count: z.int() }).parse(row).count
    },
    async available(accounts) {
      const found = await rows(
        'select id, (posted - held)::text as available from accounts where id = any ($1)',
        [accounts],
      )
      const parsed = z.array(z.object({ id: z.string(), available: z.coerce.bigint() })).parse(found)
      return new Map(parsed.map(({ id, available }) => [id, available]))
    },
    async grownHolds(accounts) {
      // Each extend notes the deadline that it leaves, also if it leaves the deadline as it was.
      const [row] = await rows(
        `select count(*)::integer as count from reservations
         where account_id = any ($1) and extended_deadline = deadline`,
        [accounts],
      )
      return z.object({ count: z.int() }).parse(row).count
    },
    async alarms() {
      const found = await rows('select kind, count(*)::integer as count from settlement_alarms group by kind')
      const kinds = z.array(z.object({ kind: z.string(), count: z.int() })).parse(found)
      return Object.fromEntries(kinds.map(({ kind, count }) => [kind, count]))
    },
    close: () => pool.end(),
  }
}

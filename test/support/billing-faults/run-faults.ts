import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { expect } from 'vitest'
import { createMoney } from '#apps/billing/money/money.ts'
import { openPool } from '#apps/billing/database/open-pool.ts'
import { createReceipts } from '#apps/billing/money/receipts.ts'
import { createBillingClient } from '#libs/billing-client/billing-client.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { killOnSchedule } from './kill-on-schedule.ts'
import { readFound } from './read-found.ts'
import { runClients, type FaultAccount } from './run-clients.ts'
import { createSettlementSender } from './send-settlements.ts'
import { startServers } from './start-servers.ts'
import { compare } from './truth.ts'

const log = pino({ level: 'silent' })

const RICH_NANO = 10n ** 15n
const POOR_NANO = 30_000n

const RICH_ACCOUNTS = 6

/**
 * All settlements must be charged within `timeout` ms after the load has ended. This is checked every `interval` ms.
 * The timeout is long, because another replica claims the unacknowledged entries of a killed replica only after 30 s.
 */
const DRAIN = { timeout: 120_000, interval: 250 }

/**
 * Kills billing, PostgreSQL and Redis for `seconds` while clients send money calls, then compares each reservation with
 * the answers of its client. Returns the figures.
 */
export async function runFaults(models: readonly ModelSpec[], seconds: number) {
  const servers = await startServers(models)
  const pool = await openPool({ url: servers.databaseUrl, log, waitMs: 10_000 })
  const accounts = await openAccounts(pool)
  const clients = [...servers.replicas, ...servers.replicas].map(({ address }) =>
    createBillingClient({ address }),
  )
  const sender = createSettlementSender(servers.redisUrl)
  const ids = models.map((model) => model.id)
  try {
    const load = runClients({ clients, accounts, models: ids, sender })
    await killOnSchedule(servers, seconds)
    const { truths, reserves, repeated } = await load.stop()

    await expect.poll(() => sender.listUnsettled(ids), DRAIN).toEqual([])
    await Promise.all(servers.replicas.map((replica) => replica.stop()))
    await expireAll(pool, ids)

    const found = await readFound(servers.databaseUrl)
    const problems = [...truths].flatMap(([id, truth]) => {
      const problem = compare(truth, found.reservations.get(id))
      return problem === null ? [] : [`${id}: ${problem}`]
    })
    const strangers = [...found.reservations.keys()].filter((id) => !truths.has(id))
    return {
      figures: {
        replicaKills: servers.replicas.reduce((sum, replica) => sum + replica.kills(), 0),
        postgresKills: servers.postgres.kills(),
        redisKills: servers.redis.kills(),
        acknowledgedReserves: reserves,
        settlements: sender.sent(),
        repeatedCalls: repeated,
        expired: [...found.reservations.values()].filter(({ state }) => state === 'expired').length,
      },
      problems: [
        ...problems.slice(0, 20),
        ...strangers.slice(0, 20).map((id) => `${id}: never reserved by a client`),
      ],
      replays: servers.replicas.reduce((sum, replica) => sum + replica.replays(), 0),
      held: found.held,
      alarms: found.alarms,
      reconciliation: found.reconciliation,
    }
  } catch (error) {
    for (const replica of servers.replicas) console.error(replica.name, replica.lastWords())
    throw error
  } finally {
    for (const client of clients) client.close()
    sender.disconnect()
    await pool.end()
    await Promise.all([...servers.replicas, servers.postgres, servers.redis].map((server) => server.stop()))
  }
}

/** Opens the accounts. One key has a spend limit and a rate, so that their counters are tested too. */
async function openAccounts(pool: Pool): Promise<FaultAccount[]> {
  const accounts: FaultAccount[] = []
  for (let index = 0; index <= RICH_ACCOUNTS; index += 1) {
    const account = { accountId: randomUUID(), keyId: randomUUID(), poor: index === RICH_ACCOUNTS }
    const nano = account.poor ? POOR_NANO : RICH_NANO
    await pool.query("insert into accounts (id, name, created_at) values ($1, 'test', now())", [
      account.accountId,
    ])
    await pool.query(
      "select top_up(movement => $1, account => $2, amount => $3, why => 'test', key => 'first', at => now())",
      [randomUUID(), account.accountId, nano],
    )
    await pool.query(
      `insert into api_keys (id, account_id, sha256, prefix, last4, created_at, spend_limit, spend_period,
         requests_per_minute)
       values ($1, $2, sha256($3), 'sk-test', 'last', now(), $4, $5, $6)`,
      [
        account.keyId,
        account.accountId,
        Buffer.from(account.keyId),
        ...(index === 0 ? [RICH_NANO, 'day', 2_000_000_000] : [null, null, null]),
      ],
    )
    accounts.push(account)
  }
  return accounts
}

/**
 * Expires all holds: calls billing's own functions for this, with a clock that is 25 hours ahead. All settlements have
 * been charged, so the remaining holds belong to generations that were never settled.
 */
async function expireAll(pool: Pool, models: readonly string[]): Promise<void> {
  const nowMs = Date.now() + 25 * 3_600_000
  const money = createMoney({
    pool,
    receipts: createReceipts(['a-receipt-secret-of-32-characters']),
    holdGraceMs: 1_000,
    freeTokensPerHour: 100_000,
    nowMs: () => nowMs,
  })
  const { rows } = await pool.query<{ run_id: string; last_ms: bigint; last_seq: bigint; model: string }>(
    'select model, run_id, last_ms, last_seq from settlement_watermarks where model = any ($1)',
    [models],
  )
  await money.noteObservations(
    rows.map((row) => ({
      model: row.model,
      runId: row.run_id,
      observedAtMs: nowMs,
      lastId: { ms: row.last_ms, seq: row.last_seq },
      settledUntilMs: nowMs,
      confirmedMs: null,
    })),
    0,
  )
  for (;;) {
    const { more } = await money.expire(500)
    if (!more) return
  }
}

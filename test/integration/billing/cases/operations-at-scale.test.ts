import { expect } from 'vitest'
import { readKeyChanges } from '#apps/billing/database/keys.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { addLedgerRows } from '../../../../bench/growth/ledger-rows.ts'
import { runs } from '../../../support/long.ts'
import { CHAT, only, START_MS } from '../support/billing-database.ts'
import { test } from '../support/own-database-test.ts'

// Every operation of operators on an account with very many keys, and beside very many accounts, requests and entries
// of the audit log. The connections of this test end a statement after 5 s, so an operation that reads or changes
// everything is refused in the long form.

const KEYS = runs(2_000, 100_000)
const ROWS = runs(4_000, 1_000_000)
const LIMIT_MS = runs(60_000, 30 * 60_000)
const DAYS = 30
/** The most time that a read may take. Most take a few ms; the machine may be busy. */
const MOST_MS = runs(30_000, 1_000)

const before = (column: string) =>
  `timestamptz '${new Date(START_MS).toISOString()}' - ${column} * interval '1 second'`

const FILL = (account: string) => [
  `insert into api_keys (id, account_id, sha256, prefix, last4, created_at, version)
   select gen_random_uuid(), '${account}', sha256(n::text::bytea), 'mr_live_' || n, lpad((n % 10000)::text, 4, '0'),
     ${before('n')}, n from generate_series(1, ${KEYS}) n`,
  `update change_counters set version = ${KEYS} where name = 'keys'`,
  `insert into accounts (id, name, created_at)
   select gen_random_uuid(), 'account ' || n, ${before('n')} from generate_series(1, ${KEYS}) n`,
  `insert into admin_audit (at, actor, role, action, target, details)
   select ${before(`(${ROWS} - n)`)}, 'ann', 'owner', 'createKey', gen_random_uuid()::text, '{}'
   from generate_series(1, ${ROWS}) n`,
  `insert into management_keys (id, account_id, name, sha256, prefix, last4, created_at)
   select gen_random_uuid(), '${account}', 'm', sha256(n::text::bytea), 'mr_manage_', '1234', ${before('n')}
   from generate_series(1, ${KEYS}) n`,
]

test(
  'every operation of operators is answered with very many keys, accounts and requests',
  { timeout: LIMIT_MS },
  async ({ damagedDatabase: database }) => {
    const { pool, operator } = database
    const { accountId: account, keyId: key } = await database.createAccount(9_000_000_000_000n)
    const session = await pool.connect()
    const run = async (statements: readonly string[]) => {
      for (const text of statements) {
        const query = { text, query_timeout: LIMIT_MS }
        await session.query(query)
      }
    }
    try {
      // The triggers of the tables are off while the rows are made.
      await run(['set statement_timeout = 0', 'set session_replication_role = replica', ...FILL(account)])
      const fromMs = START_MS - DAYS * 86_400_000
      await addLedgerRows(run, { rows: ROWS, fromMs, untilMs: START_MS, model: CHAT.id })
      const start = new Date(START_MS).toISOString()
      await run([
        `do 'begin while roll_usage(at => ''${start}'') > 0 loop end loop; end'`,
        // A seal ends with a month, so the entries of two months and of the first top-up need three seals.
        ...[2, 1, 0].map(
          (days) => `select from seal_ledger(at => timestamptz '${start}' - interval '${days} days')`,
        ),
        'vacuum analyze',
      ])
    } finally {
      session.release(true)
    }

    const version = async () =>
      only(
        (await pool.query<{ version: bigint }>("select version from change_counters where name = 'keys'"))
          .rows,
      ).version
    const reason = 'test'
    const day = (days: number) => new Date(START_MS - days * 86_400_000).toISOString().slice(0, 10)
    const long = { from: day(DAYS), to: day(0) }
    const reads: readonly (() => Promise<unknown>)[] = [
      () => operator.call(ADMIN.listAccounts, { name: 'nothing' }),
      () => operator.call(ADMIN.listAccounts, { status: 'closed' }),
      () => operator.call(ADMIN.readAccount, { account }),
      () => operator.call(ADMIN.listKeys, { account }),
      () => operator.call(ADMIN.listKeys, { prefix: 'nothing' }),
      () => operator.call(ADMIN.listKeys, { last4: 'zzzz' }),
      () => operator.call(ADMIN.readKey, { key }),
      () => operator.call(ADMIN.listManagementKeys, { account }),
      () => operator.call(ADMIN.listHolds, {}),
      () => operator.call(ADMIN.listRequests, { account }),
      () => operator.call(ADMIN.listRequests, { outcome: 'fault' }),
      () => operator.call(ADMIN.listRequests, { minMs: '5000' }),
      () => operator.call(ADMIN.summarizeUsage, long),
      () => operator.call(ADMIN.summarizeUsage, { ...long, by: 'day' }),
      () => operator.call(ADMIN.summarizeUsage, { ...long, account, by: 'model' }),
      () => operator.call(ADMIN.listWriteOffs, { account }),
      () => operator.call(ADMIN.listAudit, { action: 'archiveMonth' }),
      () => operator.call(ADMIN.listAudit, { to: new Date(START_MS - ROWS * 1_000).toISOString() }),
      () => operator.call(ADMIN.listAlarms, {}),
      () => operator.call(ADMIN.listSessions, {}),
      () => operator.call(ADMIN.readState, {}),
      () => operator.call(ADMIN.reconcile, {}),
      () => operator.call(ADMIN.listMonths, {}),
      () => operator.ask('GET', `/ledger/export?account=${account}&limit=100`),
    ]
    const changes: readonly (() => Promise<unknown>)[] = [
      () => operator.call(ADMIN.createKey, { account }),
      () => operator.call(ADMIN.changeKey, { key, spendLimit: { amountNano: '1000', period: 'month' } }),
      () => operator.call(ADMIN.rotateKey, { key, overlapSeconds: 60 }),
      () => operator.call(ADMIN.revokeKey, { key, reason }),
    ]
    const slow: string[] = []
    for (const operation of reads) {
      await operation()
      const startedMs = performance.now()
      await operation()
      const tookMs = performance.now() - startedMs
      if (tookMs > MOST_MS) slow.push(`${String(operation)} took ${Math.round(tookMs)} ms`)
    }
    expect(slow).toEqual([])
    for (const operation of changes) await operation()

    const ofAllKeys: readonly (() => Promise<unknown>)[] = [
      () => operator.call(ADMIN.changeAccount, { account, weight: 3, reason }),
      () => operator.call(ADMIN.closeAccount, { account, reason }),
      () => operator.call(ADMIN.reopenAccount, { account, reason }),
      async () => {
        await pool.query('update accounts set posted = 0 where id = $1', [account])
        await operator.topUp(account, { nano: 5n, idempotencyKey: 'later' })
      },
    ]
    for (const operation of ofAllKeys) {
      const known = await version()
      await operation()
      expect(await readKeyChanges(pool, known, START_MS)).toMatchObject({ resync: true, keys: [] })
      // Numbering each key would raise the version by their number.
      expect(await version()).toBe(known + 1_001n)
    }
  },
)

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Registry } from '@prometheus-io/client'
import { expect, onTestFinished } from 'vitest'
import { createMetrics } from '#apps/billing/metrics.ts'
import { readExamples } from '../../../support/doc-examples.ts'
import { ADMIN_TOKEN, START_MS, type BillingDatabase } from '../support/billing-database.ts'
import { test } from '../support/billing-test.ts'

const HOW_MONEY_MOVES = readFileSync('docs/billing.md', 'utf8')
const OPERATIONS = readFileSync('docs/operations/billing.md', 'utf8')

test('the script of docs/billing.md distinguishes an export as it was sealed from a changed one', async ({
  database,
}) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await sealDay(database, 1, 1_000n)
  await sealDay(database, 2, 2_000n)
  const ledger = await download(database, 'ledger')
  writeFileSync(join(folder, 'seals.json'), await download(database, 'seals?limit=500'))
  expect(await runScript(folder, ledger)).toEqual(['2030-01-01 as sealed', '2030-01-02 as sealed'])
  expect(await runScript(folder, ledger.replace('"2000"', '"2001"'))).toEqual([
    '2030-01-01 as sealed',
    '2030-01-02 NOT AS SEALED',
  ])
})

test('docs/billing.md has every question of the reconciliation', async ({ database }) => {
  const { rows } = await database.pool.query<{ name: string }>('select name from reconcile(whole => true)')
  const [, section = ''] = HOW_MONEY_MOVES.split('\n## Reconciliation\n')
  const [table = ''] = section.split('\n## ')
  const documented = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name)
  expect(documented).toHaveLength(rows.length)
  expect(new Set(documented)).toEqual(new Set(rows.map(({ name }) => name)))
})

test('every metric of docs/operations/billing.md is one of billing', async () => {
  const registry = new Registry()
  createMetrics(registry, () => 0)
  const metrics = new Set(registry.getMetricsAsArray().map(({ name }) => name))
  const documented = [...OPERATIONS.matchAll(/millrace_billing_\w+/g)].map(([name]) => name)
  expect(documented.length).toBeGreaterThan(5)
  expect(documented.filter((name) => !metrics.has(name))).toEqual([])
})

test('docs/operations/billing.md has every alarm, and no other', async () => {
  const { settlementAlarms } = createMetrics(new Registry(), () => 0)
  const { values } = await settlementAlarms.get()
  const [, table = ''] = OPERATIONS.split('| Alarm | Means | What to do |\n')
  const [rows = ''] = table.split('\n\n')
  const documented = [...rows.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, kind]) => kind)
  expect(documented).toHaveLength(values.length)
  expect(new Set(documented)).toEqual(new Set(values.map(({ labels }) => labels.kind)))
})

/** Makes a top-up, then the seal of this day of January 2030. */
async function sealDay(database: BillingDatabase, day: number, credits: bigint): Promise<void> {
  await database.createAccount(credits)
  const atMs = START_MS + (day - 1) * 86_400_000
  await database.pool.query('select seal_ledger(at => $1)', [new Date(atMs)])
}

async function download(database: BillingDatabase, path: string): Promise<string> {
  const response = await database.admin.inject({
    method: 'GET',
    url: `/admin/v1/${path}`,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  expect(response.statusCode).toBe(200)
  return response.body
}

/** Runs the documented script on this export and returns the lines that it prints. */
async function runScript(folder: string, ledger: string): Promise<string[]> {
  const [script] = readExamples(HOW_MONEY_MOVES, ['js'])
  writeFileSync(join(folder, 'verify-seals.mjs'), script?.code ?? '')
  writeFileSync(join(folder, 'ledger.jsonl'), ledger)
  const { stdout } = await promisify(execFile)(process.execPath, ['verify-seals.mjs'], { cwd: folder })
  return stdout.trim().split('\n')
}

import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { MODEL, openBenchDatabase } from '../billing/open-bench-database.ts'
import { measureSingleCalls, type SingleCalls } from '../billing/single-calls.ts'
import { startBillingService, type BillingService } from '../billing/start-billing-service.ts'
import { toSpread } from '../harness/spread.ts'
import { addLedgerRows } from './ledger-rows.ts'

const ACCOUNTS = 100
const DAY_MS = 86_400_000
const HISTORY_MS = 330 * DAY_MS
/** The number of blocks, each of 25 calls of every function. */
const BLOCKS = 12
const READS = 20

/**
 * Prints the cost of a reservation, a settlement and the operators' reads: first without settled requests, then with
 * each number of settled requests in `sizes`, spread over the last eleven months. The cost of a call is its duration
 * and its CPU time in the server's process. The CPU time is also printed as a multiple of the CPU time of a one-row
 * commit, which is measured alternately with the calls. Call `setup` of test/support first. A million rows take a
 * minute.
 */
export async function benchLedger(print: (line: string) => void, sizes: readonly number[]): Promise<void> {
  const database = await openBenchDatabase({ accounts: ACCOUNTS, settled: 0 })
  const service = await startBillingService(database.url)
  try {
    let rows = 0
    for (const size of [0, ...sizes.toSorted((a, b) => a - b)]) {
      const untilMs = Date.now() - DAY_MS / 24
      const fromMs = untilMs - HISTORY_MS
      if (size > rows)
        await addLedgerRows(database.runLong, { rows: size - rows, fromMs, untilMs, model: MODEL })
      rows = size
      await database.settleDown()
      print(`${rows.toLocaleString('en')} settled requests`)
      for (const line of toLines(await measureSingleCalls(database.url, database.keys.plain, BLOCKS)))
        print(`  ${line}`)
      const [keyId = ''] = database.keys.plain
      for (const line of await measureReads(service, database.accountOf(keyId))) print(`  ${line}`)
    }
    await database.checkBooks()
    print('the books agree')
  } finally {
    await service.stop()
    await database.close()
  }
}

function toLines({ commit, ...calls }: SingleCalls): string[] {
  return Object.entries(calls).map(
    ([way, { ms, cpuMs }]) =>
      `${way.padEnd(26)} p50 ${ms.toFixed(2)} ms, ${cpuMs.toFixed(2)} ms CPU = ${(cpuMs / commit.cpuMs).toFixed(1)} × a commit`,
  )
}

async function measureReads({ admin }: BillingService, account: string): Promise<string[]> {
  const day = (beforeDays: number) => new Date(Date.now() - beforeDays * DAY_MS).toISOString().slice(0, 10)
  const month = { from: day(30), to: day(0) }
  const reads = {
    'usage of an account': () => admin.call(ADMIN.summarizeUsage, { ...month, account, by: 'day,model' }),
    'usage of all': () => admin.call(ADMIN.summarizeUsage, { ...month, by: 'day' }),
    'requests of an account': () => admin.call(ADMIN.listRequests, { account }),
    'requests of all': () => admin.call(ADMIN.listRequests, {}),
    'an account': () => admin.call(ADMIN.readAccount, { account }),
  }
  const lines: string[] = []
  for (const [name, read] of Object.entries(reads)) {
    await read()
    const durations: number[] = []
    for (let turn = 0; turn < READS; turn += 1) {
      const startedMs = performance.now()
      await read()
      durations.push(performance.now() - startedMs)
    }
    const { median, max } = toSpread(durations)
    lines.push(`${name.padEnd(26)} p50 ${median.toFixed(1)} ms, slowest of ${READS} ${max.toFixed(1)} ms`)
  }
  return lines
}

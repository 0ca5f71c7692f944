// Measures the reservations per second of billing, compared with the naive design, on a PostgreSQL that flushes every
// commit. Both designs write the same rows into the same tables, in turns.
//
//   npm run bench:billing [-- --rounds 5 --seconds 3 --accounts 10000 --settled 0 --single]
//
// With `--single`, the program measures only single calls and batches of 32 of billing's SQL functions, in units of a commit
// of one row. They take turns of a few calls each.
//
// Prints:
// - reservations per second, on one hot account and on many accounts
// - reservations per second for keys with a spend limit, and for keys with limits per minute
// - full cycles per second (reserve, settle, usage, ledger)
// - the latency of a reservation at steady rates, for calls in this process, and for calls over gRPC to a billing
//   process
//
// `--settled` is the number of reservations that are in the tables before the first round. The parts of a round are
// measured right after each other, so trust the ratios; the ranges over the rounds show the noise of the machine. Calls
// that billing refuses because of a backlog of more than 50 ms are counted. At the end the reconciliation must find
// nothing.
import { parseArgs } from 'node:util'
import { setup, teardown } from '../test/support/global-setup.ts'
import { createDesigns, type Designs } from './billing/create-designs.ts'
import { openBenchDatabase, type BenchDatabase } from './billing/open-bench-database.ts'
import { measureSingleCalls, type SingleCalls } from './billing/single-calls.ts'
import { startBillingService, type BillingService } from './billing/start-billing-service.ts'
import { runClosedLoop, runPoisson, type Load } from './harness/offer-load.ts'
import { quantile, toSpread } from './harness/spread.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    accounts: { type: 'string', default: '10000' },
    settled: { type: 'string', default: '0' },
    single: { type: 'boolean', default: false },
  },
})
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]

/**
 * The numbers of calls that are in flight at once, in two parts of the measurement. A few gateways together have 64
 * calls in flight. With 512, billing's backlog stays within its limit of 50 ms.
 */
const IN_FLIGHT = 64
const MANY_IN_FLIGHT = 512
const RATES_PER_S = [300, 2_000]

/** The number of turns that each way of a single call gets in one round. */
const SINGLE_BLOCKS = 12

type Part = () => Promise<Load>

await measure()

async function measure() {
  await using opened = new AsyncDisposableStack()
  await setup()
  opened.defer(teardown)
  const [accounts, settled] = [Number(values.accounts), Number(values.settled)]
  const database = opened.adopt(await openBenchDatabase({ accounts, settled }), (it) => it.close())
  const single = await measureSingle(database)
  if (values.single) {
    await database.checkBooks()
    printSingle(single)
    return
  }
  const designs = opened.adopt(await createDesigns(database), (it) => it.close())
  const service = opened.adopt(await startBillingService(database.url), (it) => it.stop())
  const parts = createParts(database.keys, designs, service)
  for (const run of Object.values(parts)) await run() // Warm-up of code and caches.
  const loads = await runRounds(parts, database.settleDown)
  await database.checkBooks()
  print(loads)
  printSingle(single)
}

async function measureSingle(database: BenchDatabase): Promise<SingleCalls[]> {
  const found: SingleCalls[] = []
  for (let round = 0; round < rounds; round += 1) {
    found.push(await measureSingleCalls(database.url, database.keys.plain, SINGLE_BLOCKS))
  }
  return found
}

function createParts(
  keys: BenchDatabase['keys'],
  designs: Designs,
  service: BillingService,
): Record<string, Part> {
  const { plain, limited, rated } = keys
  const hot = plain.slice(0, 1)
  const closed = (
    call: (keyIds: readonly string[]) => Promise<boolean>,
    keyIds: readonly string[],
    inFlight = IN_FLIGHT,
  ): Part => {
    return () => runClosedLoop({ call: () => call(keyIds), inFlight, seconds })
  }
  const steady = (call: (keyIds: readonly string[]) => Promise<boolean>, ratePerS: number): Part => {
    return () => runPoisson({ call: () => call(plain), ratePerS, seconds })
  }
  return {
    'hot naive': closed(designs.naive, hot),
    'hot billing': closed(designs.reserve, hot),
    'many naive': closed(designs.naive, plain),
    'many billing': closed(designs.reserve, plain),
    'busy naive': closed(designs.naive, plain, MANY_IN_FLIGHT),
    'busy billing': closed(designs.reserve, plain, MANY_IN_FLIGHT),
    'many limited': closed(designs.reserve, limited),
    'many rated': closed(designs.reserve, rated),
    'hot cycle': closed(designs.cycle, hot),
    'many cycle': closed(designs.cycle, plain),
    'many grpc': closed(service.reserve, plain),
    ...Object.fromEntries(RATES_PER_S.map((rate) => [`steady ${rate}`, steady(designs.reserve, rate)])),
    ...Object.fromEntries(RATES_PER_S.map((rate) => [`steady grpc ${rate}`, steady(service.reserve, rate)])),
  }
}

/** Runs every other round in reverse order, so that no part always runs after the same other part. */
async function runRounds(
  parts: Readonly<Record<string, Part>>,
  settleDown: () => Promise<void>,
): Promise<Map<string, Load[]>> {
  const loads = new Map<string, Load[]>(Object.keys(parts).map((name) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    await settleDown()
    const entries = Object.entries(parts)
    for (const [name, run] of round % 2 === 0 ? entries : entries.toReversed()) {
      loads.get(name)?.push(await run())
    }
    console.error(`round ${round + 1} of ${rounds}`)
  }
  return loads
}

function line(title: string, figures: readonly number[], digits = 0): void {
  const { min, median, max } = toSpread(figures)
  const shown = [median, min, max].map((figure) => figure.toFixed(digits).padStart(8))
  console.log(`  ${title.padEnd(46)}${shown[0]}   (${shown[1]?.trim()} to ${shown[2]?.trim()})`)
}

function printSingle(rounds: readonly SingleCalls[]): void {
  console.log(`Single calls one after the other, in turns, ${SINGLE_BLOCKS} turns a round`)
  line(
    'commit of one row, p50 ms',
    rounds.map(({ commit }) => commit.ms),
    2,
  )
  for (const way of ['reserve', 'reserve_32', 'settle', 'settle_32'] as const) {
    line(
      `${way}, p50 ms`,
      rounds.map((round) => round[way].ms),
      2,
    )
    line(
      `${way}, server's CPU ms`,
      rounds.map((round) => round[way].cpuMs),
      3,
    )
    line(
      `${way} / commit, CPU`,
      rounds.map((round) => round[way].cpuMs / round.commit.cpuMs),
      1,
    )
  }
}

function print(loads: ReadonlyMap<string, readonly Load[]>): void {
  const of = (name: string) => loads.get(name) ?? []
  const perS = (name: string) => of(name).map((load) => load.perS)
  const ratio = (name: string, to: string) =>
    perS(name).map((figure, round) => figure / (perS(to)[round] ?? NaN))
  const latency = (title: string, name: string) => {
    for (const at of [0.5, 0.99]) {
      line(
        `${title}, p${at * 100} ms`,
        of(name).map(({ latenciesMs }) => quantile(latenciesMs, at)),
        1,
      )
    }
  }

  console.log(`${rounds} rounds of ${seconds} s a part; median (from, to) over the rounds`)
  for (const [place, name] of Object.entries({
    hot: `one hot account, ${IN_FLIGHT} in flight`,
    many: `${values.accounts} accounts, ${IN_FLIGHT} in flight`,
    busy: `${values.accounts} accounts, ${MANY_IN_FLIGHT} in flight`,
  })) {
    console.log(`Reservations per second, ${name}`)
    line('naive', perS(`${place} naive`))
    line('billing', perS(`${place} billing`))
    line('billing / naive', ratio(`${place} billing`, `${place} naive`), 1)
    latency('naive', `${place} naive`)
    latency('billing', `${place} billing`)
    const refused = of(`${place} billing`).map((load) => load.refused)
    line('billing, refused', refused)
    if (place !== 'busy') line('full cycles per second', perS(`${place} cycle`))
  }
  console.log(`Keys with limits, ${values.accounts} accounts, ${IN_FLIGHT} in flight`)
  line('with a spend limit', perS('many limited'))
  line('with a spend limit / plain', ratio('many limited', 'many billing'), 2)
  line('with rates', perS('many rated'))
  line('with rates / plain', ratio('many rated', 'many billing'), 2)
  console.log(`Over gRPC to another process, ${values.accounts} accounts`)
  line(`reservations per second, ${IN_FLIGHT} in flight`, perS('many grpc'))
  latency(`${IN_FLIGHT} in flight`, 'many grpc')
  console.log(`Latency at a steady rate, ${values.accounts} accounts`)
  for (const rate of RATES_PER_S) {
    latency(`${rate} per second`, `steady ${rate}`)
    latency(`${rate} per second over gRPC`, `steady grpc ${rate}`)
  }
}

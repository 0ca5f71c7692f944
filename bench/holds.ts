// Measures how holds that grow serve accounts with small balances: how many answers money cuts although the balance would
// have paid for them, how many requests get a 402 although credits come back soon, and how often holds have to grow.
//
//   npm run bench:holds [-- --calls 10000 --seed 1 --credit-wait-ms 30000]
//
// The calls are mixed: log-normal answers of three models, accounts with a few, with some and with many credits. A
// third of the requests set an output limit near the answer's length, a third a limit of ten times the length, and a
// third no limit. One request in twelve wants several answers. The modules of the gateway and of the worker that decide
// about holds run in virtual time, on billing's SQL functions in a real PostgreSQL. So the same seed gives the same
// figures on every machine. Exit code 1 if a bar is missed.
import { mock } from 'node:test'
import { parseArgs } from 'node:util'
import { setup, teardown } from '../test/support/global-setup.ts'
import { printBars } from './harness/bars.ts'
import { drawCalls, MODELS, WEALTHS, type Wealth } from './holds/draw-calls.ts'
import { createRuns, type Ended } from './holds/run-calls.ts'
import { openVirtualBilling } from './holds/virtual-billing.ts'
import { createRandom } from './scaling/random.ts'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    'credit-wait-ms': { type: 'string', default: '30000' },
  },
})

/** Timers fire at multiples of this time. */
const TICK_MS = 20
/** Engines give the next tokens once in so many ticks: 50 tokens per second and answer. */
const TICKS_PER_STEP = 5
/** A 402 was needless if the account had the credits for its request within this time after it. */
const SOON_MS = 10_000
/** The mean time until an account that has used up its credits gets new ones. */
const REFILL_MS = 20_000
const BEGIN_MS = Date.parse('2030-06-03T00:00:00Z')

type Refused = {
  readonly accountId: string
  readonly neededNano: bigint
  readonly untilMs: number
  cameBack: boolean
}
type Row = { wealth: Wealth; answers: number; ended: Ended; refused: Refused | null }

await setup()
const random = createRandom(Number(values.seed))
const { accounts: drawnAccounts, calls } = drawCalls(random, Number(values.calls))
let elapsedMs = 0
const nowMs = () => BEGIN_MS + elapsedMs
const billing = await openVirtualBilling({ models: MODELS, nowMs })
const accounts: ({
  accountId: string
  keyId: string
  isRefilled: boolean
} & (typeof drawnAccounts)[number])[] = []
for (const drawn of drawnAccounts)
  accounts.push({ ...drawn, ...(await billing.createAccount(drawn.credits)), isRefilled: false })

mock.timers.enable({ apis: ['setTimeout'] })
const { run, step, counted } = createRuns({ billing, nowMs, creditWaitMs: Number(values['credit-wait-ms']) })
const rows: Row[] = []
let refusals: Refused[] = []
const cpuBefore = process.cpuUsage()
const beganMs = performance.now()
await simulate()
mock.timers.reset()
await billing.checkBooks()
await billing.close()
await teardown()
print()

async function simulate(): Promise<void> {
  let next = 0
  for (let tick = 0; rows.length < calls.length; tick += 1) {
    elapsedMs = tick * TICK_MS
    mock.timers.tick(TICK_MS)
    for (let call = calls[next]; call !== undefined && call.atMs <= elapsedMs; call = calls[next]) {
      next += 1
      void follow(call)
    }
    if (tick % TICKS_PER_STEP === 0) step()
    await untilQuiet()
    noteCredits()
  }
  // The last settlements.
  for (let tick = 0; tick < 100; tick += 1) {
    mock.timers.tick(TICK_MS)
    await untilQuiet()
  }
}

async function follow(call: (typeof calls)[number]): Promise<void> {
  const account = accounts[call.account]
  if (account === undefined) throw new Error(`there is no account ${call.account}`)
  const ended = await run(call, account)
  const { accountId, wealth } = account
  const refused =
    ended.kind === 'refused'
      ? { accountId, neededNano: ended.neededNano, untilMs: elapsedMs + SOON_MS, cameBack: false }
      : null
  if (refused !== null) refusals.push(refused)
  rows.push({ wealth, answers: call.answers.length, ended, refused })
}

/** Waits until billing has answered everything that has happened so far. */
async function untilQuiet(): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve))
  while (await billing.flush())
}

/** Refills empty accounts, and notes which refused requests could be paid by now. */
function noteCredits(): void {
  for (const account of accounts) {
    if (account.isRefilled || billing.posted(account.accountId) >= account.refillBelow) continue
    account.isRefilled = true
    setTimeout(
      () => {
        account.isRefilled = false
        billing.topUp(account.accountId, account.credits)
      },
      -Math.log(1 - random.uniform()) * REFILL_MS,
    )
  }
  for (const refused of refusals)
    refused.cameBack ||= billing.available(refused.accountId) >= refused.neededNano
  refusals = refusals.filter(({ cameBack, untilMs }) => !cameBack && untilMs > elapsedMs)
}

function print(): void {
  const { user, system } = process.cpuUsage(cpuBefore)
  const [wallS, cpuS] = [(performance.now() - beganMs) / 1_000, (user + system) / 1e6]
  console.log(
    `${rows.length} calls in ${Math.round(elapsedMs / 1_000)} s of virtual time, seed ${values.seed}; ` +
      `took ${wallS.toFixed(0)} s, ${cpuS.toFixed(0)} s of CPU without PostgreSQL`,
  )
  console.log('                     calls   whole     cut  paid*     402  paid*  soon*')
  for (const wealth of [...WEALTHS, null]) printRow(wealth)
  console.log(`  paid*: although the credits that were available at the start paid for the whole answer`)
  console.log(`  soon*: the credits for the request were available within ${SOON_MS / 1_000} s after the 402`)
  console.log(`requests for a larger hold, by answer: ${show(counted.growths)}`)
  console.log(`waits for credits, by end: ${show(counted.waits)}`)
  const cut = rows.filter(({ ended }) => ended.kind === 'cut' && ended.wasPaid).length
  const generations = rows.reduce((sum, { answers, refused }) => sum + (refused === null ? answers : 0), 0)
  const isMet = printBars([
    {
      title: 'cut by money although the balance paid them',
      unit: ' % of the calls',
      bar: 0.5,
      values: [(100 * cut) / rows.length],
    },
    {
      title: 'calls of Extend per generation',
      unit: '',
      bar: 0.1,
      values: [billing.extends() / generations],
    },
  ])
  if (!isMet) process.exitCode = 1
}

function printRow(wealth: Wealth | null): void {
  const own = rows.filter((row) => wealth === null || row.wealth === wealth)
  const cuts = own.filter(({ ended }) => ended.kind === 'cut')
  const refused = own.filter(({ ended }) => ended.kind === 'refused')
  const paid = (some: typeof own) => some.filter(({ ended }) => 'wasPaid' in ended && ended.wasPaid).length
  const figures = [
    own.length,
    own.filter(({ ended }) => ended.kind === 'whole').length,
    cuts.length,
    paid(cuts),
    refused.length,
    paid(refused),
    refused.filter((row) => row.refused?.cameBack === true).length,
  ]
  const widths = [8, 8, 8, 7, 8, 7, 7]
  const cells = figures.map((figure, index) => String(figure).padStart(widths[index] ?? 8))
  console.log(`  ${(wealth ?? 'all').padEnd(16)}${cells.join('')}`)
}

function show(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, times]) => `${name} ${times}`).join(', ') || 'none'
}

import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultyCluster, type FaultyCluster } from '#test/support/faulty-cluster/faulty-cluster.ts'
import { drawAsks, type Ask } from './asks.ts'
import { openBooks, type Books } from './books.ts'
import { checkAtRest } from './check-at-rest.ts'
import { checkCharges } from './check-charges.ts'
import { findLeftovers } from './check-processes.ts'
import { startClients, type Asked } from './clients.ts'
import type { Known } from './judge.ts'
import { learn } from './learn.ts'
import { createPayers, type Payers } from './payers.ts'
import { createRandom, type Random } from './random.ts'
import { createTally, type Tally } from './tally.ts'
import { runFaults, type Done } from './run-faults.ts'
import { drawSchedule, type Planned, type Scope } from './schedule.ts'

export type ChaosOptions = {
  readonly seed: number
  /** No round begins after this time. */
  readonly limitMs: number
  readonly mostRounds: number
  readonly faultsPerRound: number
  readonly meanGapMs: number
  readonly clients: number
  readonly scopes: readonly Scope[]
  /** If true, the run continues after a round with problems. */
  readonly keepGoing: boolean
  /** If true, an error is a problem unless a fault at about the same time excuses it. */
  readonly strict: boolean
  /** The faults of each round, in place of faults that the seed draws. */
  readonly planned?: readonly Planned[]
  /** Only requests whose name matches are sent; default: all. */
  readonly asks?: RegExp
  /** How long the cluster may take to come to rest; default: until the last hold must have expired. */
  readonly restLimitMs?: number
  /** If true, PostgreSQL has a standby, which faults promote. */
  readonly hasStandby?: boolean
  /** Variables for every app. */
  readonly env?: Readonly<Record<string, string>>
  readonly say: (line: string) => void
}

export type ChaosReport = { readonly problems: readonly string[]; readonly tally: Tally }

const COUNTS = { gateways: 2, workers: 3, billings: 2 }
/**
 * Processes that run as the next release. So each kind of process has both releases, and each release reads what the
 * other wrote.
 */
const OTHER_RELEASE_PARTS = ['gateway-2', 'worker-3', 'billing-2']
const DEADLINE_MS = 60_000
/** The longest time of an answer. It must end soon after the deadline, whatever was frozen meanwhile. */
const HANG_MS = DEADLINE_MS + 30_000
/** The deadline, the grace, and the time that billing waits behind its watermark, also after a change of the run id. */
const REST_LIMIT_MS = DEADLINE_MS + 150_000
/** How much faster the engines are while the answers are learned. */
const LEARNING_SPEED = 20
const CREDITS = '1000'

const ENGINES = ['demo-chat', 'demo-reasoning', 'demo-embed'].map((model) => ({
  model,
  files: model === 'demo-reasoning' ? model : 'demo',
  kind: model === 'demo-embed' ? ('embedding' as const) : ('chat' as const),
  maxNumSeqs: 24,
  // About 30 tokens per second and stream.
  stepMs: 30,
  sequenceMs: 0.2,
}))

const ENV = {
  // The same value in gateway, worker and billing. It is short, so that holds of killed gateways expire within a round.
  HOLD_GRACE_MS: '5000',
}

/**
 * Runs rounds of faults on a loaded cluster. After each round the load pauses, the cluster recovers, and everything is
 * checked. Resolves with the problems when all processes have ended.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { say } = options
  const random = createRandom(options.seed)
  say(`seed ${options.seed}`)
  const env = { ...ENV, ...options.env }
  const cluster = await startFaultyCluster({
    ...COUNTS,
    engines: ENGINES,
    otherRelease: OTHER_RELEASE_PARTS,
    hasStandby: options.hasStandby ?? false,
    env: {
      gateway: { ...env, GENERATION_DEADLINE_MS: String(DEADLINE_MS), DRAIN_GRACE_MS: '20000' },
      worker: { ...env, ENGINE_SILENCE_MS: '4000', DRAIN_GRACE_MS: '8000' },
      billing: env,
      simulator: options.env ?? {},
    },
  })
  const books = openBooks(cluster.databaseUrl)
  const tally = createTally()
  const problems: string[] = []
  try {
    const world = await createWorld(cluster, { books, random, asks: options.asks })
    say(`${world.asks.size} requests learned`)
    const beganMs = performance.now()
    for (let round = 1; round <= options.mostRounds; round += 1) {
      say(`round ${round}, after ${((performance.now() - beganMs) / 60_000).toFixed(1)} minutes`)
      const all = await runRound(world, { round, options, tally })
      // A wrong charge is found in every later round as well.
      const found = all.filter((problem) => !problems.includes(problem))
      for (const problem of found) say(`PROBLEM ${problem}`)
      problems.push(...found)
      if (performance.now() - beganMs > options.limitMs) break
      if (problems.length > 0 && !options.keepGoing) break
    }
  } finally {
    await books.close()
    await cluster.stop()
  }
  problems.push(...findLeftovers(cluster.parts.flatMap((part) => part.pids())))
  for (const line of tally.lines()) say(line)
  return { problems, tally }
}

type World = {
  readonly cluster: FaultyCluster
  readonly books: Books
  readonly random: Random
  readonly payers: Payers
  readonly asks: ReadonlyMap<Ask, Known>
  /** The charges that were checked. */
  readonly checked: Set<string>
  /** All requests, of earlier rounds too, because a late charge must be noticed. */
  readonly asked: Asked[]
}

async function createWorld(
  cluster: FaultyCluster,
  { books, random, asks: only = /./u }: { books: Books; random: Random; asks: RegExp | undefined },
): Promise<World> {
  // A separate account pays for the requests that learn the answers.
  const account = await cluster.createAccount(CREDITS)
  const payers = await createPayers(cluster, books)
  await setSlowness(cluster, 1 / LEARNING_SPEED)
  const asks = await learn(cluster.gateways, {
    asks: drawAsks(random.fork('asks')).filter(({ name }) => only.test(name)),
    account,
    books,
  })
  await setSlowness(cluster, 1)
  return { cluster, books, random, payers, asks, checked: new Set(), asked: [] }
}

async function setSlowness(cluster: FaultyCluster, slowness: number): Promise<void> {
  for (const simulator of cluster.simulators) await cluster.changeEngines(simulator, { slowness })
}

async function runRound(
  world: World,
  { round, options, tally }: { round: number; options: ChaosOptions; tally: Tally },
): Promise<string[]> {
  const { cluster, random, payers, asks } = world
  const { say } = options
  const planned =
    options.planned ??
    drawSchedule(random.fork(`round ${round}`), {
      counts: COUNTS,
      faults: options.faultsPerRound,
      meanGapMs: options.meanGapMs,
      scopes: options.scopes,
      hasStandby: options.hasStandby ?? false,
    })
  const feeding = payers.feed(random.fork(`credits of round ${round}`))
  const clients = startClients({
    gateways: cluster.gateways,
    payers: payers.all,
    asks,
    random: random.fork(`clients of round ${round}`),
    count: options.clients,
    hangMs: HANG_MS,
    deadlineMs: DEADLINE_MS,
  })
  const done: Done[] = []
  await runFaults(cluster, { planned, done, say: (line) => say(`  ${line}`) })
  // Waits until requests that began during the last faults can have ended, and some later requests have begun.
  await sleep(2_000)
  const asked = await clients.stop()
  const shortages = await feeding.stop()
  world.asked.push(...asked)
  tally.add({ asked, done })
  const needless = tally.needless(asked, done)
  for (const line of needless) say(`  ${line}`)

  const limitMs = options.restLimitMs ?? REST_LIMIT_MS
  const { problems: atRest, note } = await checkAtRest(world, { limitMs })
  say(`  ${asked.length} requests, ${note}, ${await payers.note()}`)
  return [
    ...wrongs(asked, done),
    ...shortages.problems(asked, done),
    ...done.flatMap(({ problem }) => problem ?? []),
    ...tally.besideKillers(asked, done),
    ...(options.strict ? needless : []),
    ...atRest,
    ...(await checkAllCharges(world)),
  ]
}

function wrongs(asked: readonly Asked[], done: readonly Done[]): string[] {
  return asked.flatMap(({ ask, call, outcome }) => {
    if (outcome.kind !== 'wrong') return []
    const around = done
      .filter(({ startMs, endMs }) => startMs < call.endMs && endMs > call.startMs - 2_000)
      .map(({ label }) => label)
    return [`${call.id} (${ask.name}, ${call.gateway}): ${outcome.why}; during ${around.join(', ')}`]
  })
}

async function checkAllCharges({ cluster, books, payers, asked, checked }: World) {
  const rows = await books.all(payers.all.map(({ account }) => account.id))
  const ends = new Map(cluster.gateways.map((gateway) => [gateway.name, gateway.ends()]))
  const endsOf = (gateway: string) => ends.get(gateway) ?? []
  const problems = checkCharges({ asked, rows, endsOf, checked })
  let charged = 0n
  for (const row of rows.values()) charged += row.charged
  let spent = 0n
  for (const { account, givenNano } of payers.all) {
    const { posted } = await cluster.balance(account)
    spent += givenNano - posted
  }
  if (charged !== spent) problems.push(`${spent} nano-credits are spent, and ${charged} charged`)
  return problems
}

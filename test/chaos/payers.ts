import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatCredits, parseCredits } from '#libs/money/nano-credits.ts'
import { sumMetric, type TestAccount } from '#test/support/cluster.ts'
import type { FaultyCluster } from '#test/support/faulty-cluster/faulty-cluster.ts'
import type { Books } from './books.ts'
import { checkUnpaid, type Sample } from './check-unpaid.ts'
import type { Asked } from './clients.ts'
import type { Random } from './random.ts'
import type { Done } from './run-faults.ts'

/** An account that pays for requests. */
export type Payer = {
  readonly account: TestAccount
  /** True if the account has credits for a few answers, and gets a few more now and then. */
  readonly isPoor: boolean
  /** All credits that the account has been given, in nano-credits. */
  givenNano: bigint
}

export type Payers = {
  readonly all: readonly Payer[]
  /** Gives poor accounts credits now and then, and watches what they have, until `stop`. */
  feed(random: Random): { stop(): Promise<Shortages> }
  /** Returns figures for people. */
  note(): Promise<string>
}

/** The credits that poor accounts were seen with during one round. */
export type Shortages = {
  /** Returns the answers that ended as unpaid although credits for the next token were there. */
  problems(asked: readonly Asked[], done: readonly Done[]): string[]
}

const RICH = 3
const POOR = 3
const RICH_CREDITS = '1000'
/** These credits pay for two or three answers. */
const POOR_CREDITS = '0.0004'
/** The amounts that poor accounts get: less than an answer costs. Together they are less than the clients need. */
const GIFT_NANO = { least: 10_000, most: 60_000 }
const GIFT_EVERY_MS = 400
const RETRY_MS = 300
const WATCH_EVERY_MS = 150
/** A top-up whose fate is unknown is repeated for this long. */
const GIVE_UP_MS = 60_000

export async function createPayers(cluster: FaultyCluster, books: Books): Promise<Payers> {
  const all: Payer[] = []
  const create = async (isPoor: boolean) => {
    const credits = isPoor ? POOR_CREDITS : RICH_CREDITS
    all.push({ account: await cluster.createAccount(credits), isPoor, givenNano: parseCredits(credits) })
  }
  for (let i = 0; i < RICH; i += 1) await create(false)
  for (let i = 0; i < POOR; i += 1) await create(true)
  const poor = all.filter(({ isPoor }) => isPoor)
  const poorIds = poor.map(({ account }) => account.id)

  /** Repeats a top-up until it has worked, because billing may have carried out a call that failed. */
  async function give(payer: Payer, nano: bigint): Promise<void> {
    const given = { credits: formatCredits(nano), idempotencyKey: randomUUID() }
    const giveUpMs = performance.now() + GIVE_UP_MS
    for (;;) {
      try {
        await cluster.topUp(payer.account, given)
        payer.givenNano += nano
        return
      } catch (error) {
        if (performance.now() > giveUpMs) throw error
        await sleep(RETRY_MS)
      }
    }
  }

  return {
    all,
    feed(random) {
      const samples: Sample[] = []
      const stopping = new AbortController()
      const giving = async () => {
        while (!stopping.signal.aborted) {
          await give(random.pick(poor), BigInt(random.int(GIFT_NANO.least, GIFT_NANO.most)))
          await sleep(GIFT_EVERY_MS)
        }
      }
      const watching = async () => {
        while (!stopping.signal.aborted) {
          // While PostgreSQL is down, nothing is seen.
          const available = await books.available(poorIds).catch(() => null)
          if (available !== null) samples.push({ atMs: performance.now(), available })
          await sleep(WATCH_EVERY_MS)
        }
      }
      const feeding = Promise.all([giving(), watching()])
      // `stop` reports the rejection.
      feeding.catch(() => undefined)
      return {
        async stop() {
          stopping.abort()
          await feeding
          return { problems: (asked, done) => checkUnpaid({ samples, asked, done }) }
        },
      }
    },
    async note() {
      const grown = await books.grownHolds(poorIds)
      const counted = Promise.all(cluster.gateways.map(countWaits))
      // A gateway that does not answer is reported by the checks at rest.
      const waits = await counted.then(sum, () => 'unknown')
      return `poor accounts: ${grown} holds have grown, waits for credits in these gateways: ${waits}`
    },
  }
}

/** Returns how many requests have waited for credits since the gateway's process started. */
async function countWaits({ opsUrl }: FaultyCluster['gateways'][number]): Promise<number> {
  return sumMetric(
    await (await fetch(`${opsUrl()}/metrics`)).text(),
    'millrace_gateway_credit_waits_total',
    {},
  )
}

const sum = (counts: readonly number[]) => counts.reduce((total, each) => total + each, 0)

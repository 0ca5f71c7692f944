import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatCredits, parseCredits } from '#libs/money/nano-credits.ts'
import { demoPrices } from '#test/support/catalog.ts'
import type { TestAccount } from '#test/support/cluster.ts'
import type { FaultyCluster } from '#test/support/faulty-cluster/faulty-cluster.ts'
import type { Books } from './books.ts'
import type { Asked } from './clients.ts'
import type { Random } from './random.ts'
import { AFTERMATH_MS, type Done } from './run-faults.ts'

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

/** What was seen of the credits of poor accounts during one round. */
export type Shortages = {
  /** Returns the answers that ended as unpaid although credits for the next token were there. */
  problems(asked: readonly Asked[], done: readonly Done[]): string[]
}

const RICH = 3
const POOR = 2
const RICH_CREDITS = '1000'
/** Pays for two or three answers. */
const POOR_CREDITS = '0.0004'
/** The amounts that poor accounts get: less than an answer, or a little more. Together less than the clients need. */
const GIFT_NANO = { least: 20_000, most: 200_000 }
const GIFT_EVERY_MS = 1_000
const RETRY_MS = 300
const WATCH_EVERY_MS = 150
/** Tokens wait for this long to be paid (`paid-output.ts`); a little is added for a busy machine. */
const UNPAID_MS = 4_000
/** A top-up whose fate is unknown is repeated for this long. */
const GIVE_UP_MS = 60_000

type Sample = { readonly atMs: number; readonly available: ReadonlyMap<string, bigint> }

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
          return { problems: (asked, done) => findProblems(samples, asked, done) }
        },
      }
    },
    async note() {
      return `${await books.grownHolds(poorIds)} holds of poor accounts have grown`
    },
  }
}

function findProblems(samples: readonly Sample[], asked: readonly Asked[], done: readonly Done[]): string[] {
  const overspent = samples.flatMap(({ available }) => [...available].filter(([, nano]) => nano < 0n))
  const unpaid = asked.filter(({ outcome }) => outcome.kind === 'unpaid')
  const needless = unpaid.filter((each) => !wasShort(each, samples) && !isExcused(each, done))
  return [
    ...overspent.map(([id, nano]) => `account ${id} has ${nano} nano-credits`),
    ...needless.map(
      ({ ask, call }) => `${call.id} (${ask.name}) ended as unpaid although there were credits`,
    ),
  ]
}

/** True if the account was seen without the credits for one more token while its request ran. */
function wasShort({ ask, call, payer }: Asked, samples: readonly Sample[]): boolean {
  const nextToken = demoPrices(ask.model).outputPriceNano / 1_000_000n
  return samples
    .filter(({ atMs }) => atMs >= call.startMs && atMs <= call.endMs)
    .some(({ available }) => (available.get(payer.account.id) ?? 0n) < nextToken)
}

/** True if, when the answer ended, a fault kept it from larger holds: tokens wait for a hold only for a short time. */
function isExcused({ call }: Asked, done: readonly Done[]): boolean {
  return done
    .filter(({ startMs, endMs }) => startMs < call.endMs && endMs + AFTERMATH_MS > call.endMs - UNPAID_MS)
    .some(({ label, disturbed }) => disturbed === call.gateway || KEEPS_HOLDS.test(label))
}

/** Matches faults of billing and its database, and of the bus, which carries the requests of workers and the answers. */
const KEEPS_HOLDS = /billing|postgres|bus/u

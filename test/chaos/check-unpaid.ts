import { demoPrices } from '#test/support/catalog.ts'
import type { Asked } from './clients.ts'
import { AFTERMATH_MS, type Done } from './run-faults.ts'

/** The credits of accounts that no hold set aside at one moment, as PostgreSQL showed them. */
export type Sample = { readonly atMs: number; readonly available: ReadonlyMap<string, bigint> }

/** Tokens wait for 3 s to be paid (`paid-output.ts`). A second is added for a busy machine. */
const UNPAID_MS = 4_000

/** Matches faults of billing and its database, and of the bus, which carries the requests of workers and the answers. */
const KEEPS_HOLDS = /billing|postgres|bus/u

/**
 * Returns the accounts that overspent, and the answers that ended as unpaid although their account had the credits for
 * one more token during the whole request. An answer is left out if a fault kept holds from growing shortly before its
 * end.
 */
export function checkUnpaid(options: {
  samples: readonly Sample[]
  asked: readonly Asked[]
  done: readonly Done[]
}): string[] {
  const { samples, asked, done } = options
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
    .some(({ available }) => (available.get(payer.account.id) ?? nextToken) < nextToken)
}

/** True if a fault kept holds from growing shortly before the answer ended. */
function isExcused({ call }: Asked, done: readonly Done[]): boolean {
  return done
    .filter(({ startMs, endMs }) => startMs < call.endMs && endMs + AFTERMATH_MS > call.endMs - UNPAID_MS)
    .some(({ label, disturbed }) => disturbed === call.gateway || KEEPS_HOLDS.test(label))
}

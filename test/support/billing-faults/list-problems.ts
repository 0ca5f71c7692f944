import { CHAT, EMBED, ODD } from '../../integration/billing/support/billing-database.ts'
import { runFaults } from './run-faults.ts'

/**
 * The least numbers of events per second. A run with fewer events proves nothing. The numbers are low, because a busy
 * machine takes seconds to start a replica.
 */
const LEAST = {
  replicaKills: 1 / 10,
  postgresKills: 1 / 12,
  redisKills: 1 / 16,
  acknowledgedReserves: 5,
  settlements: 4,
} as const

/**
 * Calls `runFaults` for `seconds` and prints its figures. Returns one text for each problem. There are two kinds of
 * problems:
 * - Something went wrong. For example, money or a call was lost, wrong or stuck.
 * - A kind of event happened too rarely, so the run proves nothing.
 */
export async function listProblems(seconds: number): Promise<string[]> {
  const { figures, problems, replays, held, alarms, reconciliation } = await runFaults(
    [CHAT, ODD, EMBED],
    seconds,
  )
  console.info(figures)
  const all = [...problems]
  if (replays > 0) all.push(`a database that lost nothing was taken for a restored one ${replays} times`)
  if (held !== 0n) all.push(`${held} nano-credits are still held`)
  // A settlement raises the alarm `released` if the hold of its generation was released before. This is expected
  // here. The alarm `unknown` would mean that a hold was lost.
  for (const kind of alarms) if (kind !== 'released') all.push(`settlement alarm: ${kind}`)
  if (reconciliation.size < 10) all.push(`only ${reconciliation.size} questions of the reconciliation`)
  for (const [name, count] of reconciliation) if (count !== 0n) all.push(`reconciliation: ${count} ${name}`)
  for (const name of [
    'replicaKills',
    'postgresKills',
    'redisKills',
    'acknowledgedReserves',
    'settlements',
  ] as const) {
    if (figures[name] < LEAST[name] * seconds) all.push(`only ${figures[name]} ${name}`)
  }
  if (figures.expired === 0) all.push('no hold was left to expire')
  return all
}

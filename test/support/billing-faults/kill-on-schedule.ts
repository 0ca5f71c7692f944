import { setInterval } from 'node:timers/promises'
import type { Servers, Victim } from './start-servers.ts'

const POSTGRES_EVERY_S = 5
const REDIS_EVERY_S = 8
const BOTH_EVERY_S = 15

/**
 * Kills servers (kill -9) for `seconds`: one of billing's two replicas each second, both replicas each 15 s, PostgreSQL
 * each 5 s, and Redis each 8 s. A process that is still starting is not killed. The kill of one replica is also left
 * out while the other replica is starting: on a busy machine a start takes longer than a second, and nothing is tested
 * while both are down. Resolves when everything runs again. Rejects if a process does not start again, or ended by
 * itself.
 */
export async function killOnSchedule(servers: Servers, seconds: number): Promise<void> {
  const restarts: Promise<void>[] = []
  let second = 0
  for await (const _ of setInterval(1_000)) {
    second += 1
    const isBoth = second % BOTH_EVERY_S === 0
    const victims = [
      ...(isBoth || servers.replicas.every((replica) => replica.isUp())
        ? [alternate(servers.replicas, second)]
        : []),
      ...(isBoth ? [alternate(servers.replicas, second + 1)] : []),
      ...(second % POSTGRES_EVERY_S === 0 ? [servers.postgres] : []),
      ...(second % REDIS_EVERY_S === 0 ? [servers.redis] : []),
    ]
    for (const victim of victims) if (victim.isUp()) restarts.push(victim.killAndRestart())
    // A failed restart is reported below. Until then its rejection must not count as unhandled.
    for (const each of restarts) each.catch(() => undefined)
    if (second >= seconds) break
  }
  await Promise.all(restarts)
}

function alternate(replicas: readonly [Victim, Victim], second: number): Victim {
  return second % 2 === 0 ? replicas[0] : replicas[1]
}

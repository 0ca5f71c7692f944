import { setTimeout as sleep } from 'node:timers/promises'
import { askOnce, type Asked, type AskOptions } from '../../test/chaos/clients.ts'
import type { Random } from '../../test/chaos/random.ts'

/** Returns how many requests per second are served while `clients` clients each send one request after the other. */
export async function measureCapacity(
  options: AskOptions,
  { random, clients, seconds }: { random: Random; clients: number; seconds: number },
): Promise<number> {
  const startMs = performance.now()
  const endMs = startMs + seconds * 1_000
  let served = 0
  async function follow(index: number) {
    const own = random.fork(`client ${index}`)
    while (performance.now() < endMs) {
      const { outcome } = await askOnce(options, own)
      if (outcome.kind === 'exact' && performance.now() < endMs) served += 1
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, index) => follow(index)))
  return served / seconds
}

/**
 * Sends requests at random moments, `perS` on average, without waiting for earlier answers, until `signal` aborts. Then
 * waits for the open requests. `onAsked` receives each request when it has ended.
 */
export async function offerRequests(
  options: AskOptions & { random: Random; perS: number; signal: AbortSignal; onAsked(asked: Asked): void },
): Promise<void> {
  const { random, perS, signal, onAsked } = options
  const under = new Set<Promise<void>>()
  let dueMs = performance.now()
  for (let number = 0; !signal.aborted; number += 1) {
    dueMs += (-Math.log(1 - random.unit()) * 1_000) / perS
    const restMs = dueMs - performance.now()
    if (restMs > 0) await sleep(restMs)
    const ask = askOnce(options, random.fork(`request ${number}`)).then(onAsked)
    under.add(ask)
    ask.finally(() => under.delete(ask)).catch(() => {})
  }
  await Promise.all(under)
}

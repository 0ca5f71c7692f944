import { setTimeout as sleep } from 'node:timers/promises'

/** Polls `holds` until it resolves with true. Use a longer interval for an expensive check. Rejects after `limitMs`. */
export async function until(holds: () => Promise<boolean>, limitMs = 30_000, intervalMs = 50): Promise<void> {
  const giveUpAtMs = performance.now() + limitMs
  while (!(await holds())) {
    if (performance.now() > giveUpAtMs) throw new Error(`not within ${limitMs} ms: ${holds.toString()}`)
    await sleep(intervalMs)
  }
}

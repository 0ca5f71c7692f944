import type { ProcessKind } from './heartbeat.ts'

/** Processes that were declared dead and not heard since: the last 512 of the last 10 minutes. */
export type RecentDeaths = {
  add(id: string, kind: ProcessKind): void
  /** Removes a death, because the process was heard again. */
  revive(id: string): void
  has(id: string): boolean
  /** Returns the boot ids of the dead gateways, the oldest death first. */
  gateways(): readonly string[]
}

const KEEP_MS = 600_000
const MOST = 512

/** `nowMs` must never go back. */
export function createRecentDeaths(nowMs: () => number): RecentDeaths {
  const deaths = new Map<string, { readonly kind: ProcessKind; readonly diedMs: number }>()
  return {
    add(id, kind) {
      deaths.set(id, { kind, diedMs: nowMs() })
      for (const oldest of deaths.keys()) {
        if (deaths.size <= MOST) break
        deaths.delete(oldest)
      }
    },
    revive(id) {
      deaths.delete(id)
    },
    has: (id) => deaths.has(id),
    gateways() {
      const now = nowMs()
      for (const [id, { diedMs }] of deaths) {
        if (now - diedMs < KEEP_MS) break
        deaths.delete(id)
      }
      return [...deaths].flatMap(([id, { kind }]) => (kind === 'gateway' ? [id] : []))
    },
  }
}

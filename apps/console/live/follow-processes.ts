import type { Report } from '#libs/event-bus/reports.ts'
import type { ProcessNow } from '#libs/live-view/rows.ts'
import type { GatewayLoad } from './follow-gateways.ts'

/** Keeps the last report of each gateway and worker. */
export type FollowProcesses = {
  receive(report: Report): void
  /** Returns the rows. Forgets processes that have been silent for `silentMs` and a minute more. */
  rows(of: {
    gateways: readonly { readonly id: string; readonly load: GatewayLoad | null }[]
    silentMs: number
  }): readonly ProcessNow[]
}

type Described = Pick<
  Report,
  'id' | 'kind' | 'name' | 'host' | 'pid' | 'version' | 'startedAt' | 'pendingSettlements'
>

const FORGET_MS = 60_000
const MOST_PROCESSES = 5_000

export function createFollowProcesses({ nowMs }: { nowMs: () => number }): FollowProcesses {
  /** The kept fields of each report. A gateway's whole report would be long. */
  const processes = new Map<string, { described: Described; heardMs: number }>()

  return {
    receive(report) {
      if (processes.has(report.id) || processes.size < MOST_PROCESSES) {
        const { id, kind, name, host, pid, version, startedAt, pendingSettlements } = report
        const described = { id, kind, name, host, pid, version, startedAt, pendingSettlements }
        processes.set(id, { described, heardMs: nowMs() })
      }
    },
    rows({ gateways, silentMs }) {
      const now = nowMs()
      const loadOf = new Map(gateways.map(({ id, load }) => [id, load]))
      for (const [id, { heardMs }] of processes) {
        if (now - heardMs > silentMs + FORGET_MS) processes.delete(id)
      }
      return Array.from(processes.values(), ({ described, heardMs }): ProcessNow => {
        const load = loadOf.get(described.id) ?? null
        return {
          ...described,
          seenMs: now - heardMs > silentMs ? Math.round(now - heardMs) : 0,
          openStreams: load?.openStreams ?? null,
          loopDelayMs: load === null ? null : Math.round(load.loopDelayMs),
        }
      })
    },
  }
}

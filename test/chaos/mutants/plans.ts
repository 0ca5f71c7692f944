import type { Fault, Planned } from '../schedule.ts'

/** Faults at equal distances. */
function every(gapMs: number, faults: readonly Fault[]): readonly Planned[] {
  return faults.map((fault, index) => ({ atMs: (index + 2) * gapMs, fault }))
}

const kill = (part: string): Fault => ({ kind: 'kill', part, downMs: 0 })
const terminate = (part: string): Fault => ({ kind: 'terminate', part })
const freeze = (part: string, ms: number): Fault => ({ kind: 'freeze', part, ms })
const cut = (link: string): Fault => ({ kind: 'cut', link })
const refuse = (link: string, ms: number): Fault => ({ kind: 'refuse', link, ms })

/** One worker after the other ends. A stopped worker hands its generations over, a killed one loses them. */
export const ENDING_WORKERS = every(3_500, [
  kill('worker-1'),
  terminate('worker-2'),
  kill('worker-3'),
  terminate('worker-1'),
  kill('worker-2'),
])

/** A frozen worker is taken for dead after 3 s. It continues while another worker runs its generations. */
export const FREEZING_WORKERS = every(4_000, [
  freeze('worker-1', 4_500),
  freeze('worker-2', 5_000),
  freeze('worker-3', 5_500),
  freeze('worker-1', 4_800),
  freeze('worker-2', 5_200),
])

/** Messages on the bus are lost while the workers go on. */
export const BROKEN_CONNECTIONS = every(1_500, [
  cut('worker-1→bus'),
  cut('gateway-1→bus'),
  refuse('gateway-2→bus', 800),
  cut('gateway-1→bus'),
  refuse('worker-2→bus', 1_200),
  cut('gateway-2→bus'),
  refuse('gateway-1→bus', 1_000),
  cut('worker-3→bus'),
  { kind: 'half-open', link: 'gateway-2→bus', ms: 1_500 },
])

export const ENDING_GATEWAYS = every(5_000, [kill('gateway-1'), kill('gateway-2'), kill('gateway-1')])

/** The queue Redis loses writes, and the database is away in between. */
export const LOST_WRITES = every(3_000, [
  { kind: 'lose-writes', part: 'queue', ms: 1_000 },
  { kind: 'kill', part: 'postgres', downMs: 1_000 },
  { kind: 'lose-writes', part: 'queue', ms: 1_500 },
  { kind: 'kill', part: 'postgres', downMs: 1_000 },
  { kind: 'lose-writes', part: 'queue', ms: 1_000 },
])

/** Both billings end while they wait for the database. */
export const ENDING_BILLINGS = every(1_200, [
  { kind: 'kill', part: 'postgres', downMs: 2_500 },
  kill('billing-1'),
  kill('billing-2'),
  kill('worker-1'),
  { kind: 'stall', link: 'billing-1→postgres', ms: 2_000 },
  { kind: 'stall', link: 'billing-2→postgres', ms: 2_000 },
  kill('billing-1'),
  kill('billing-2'),
])

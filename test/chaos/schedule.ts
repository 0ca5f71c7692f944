import type { Random } from './random.ts'

/** The numbers of the parts that can be disturbed, such as `worker-1`. */
export type Counts = { readonly gateways: number; readonly workers: number; readonly billings: number }

export type Fault =
  | { readonly kind: 'kill'; readonly part: string; readonly downMs: number }
  | { readonly kind: 'terminate'; readonly part: string }
  | { readonly kind: 'freeze'; readonly part: string; readonly ms: number }
  /** The wall clock of an app steps by `aheadMs`, and steps back after `ms`. */
  | { readonly kind: 'step-clock'; readonly part: string; readonly ms: number; readonly aheadMs: number }
  /** The queue Redis is killed and loses its last writes. */
  | { readonly kind: 'lose-writes'; readonly part: 'queue'; readonly ms: number }
  /** Sessions of PostgreSQL may not write for `ms`. Sessions that begin within this time stay read-only afterwards. */
  | { readonly kind: 'read-only'; readonly part: 'postgres'; readonly ms: number }
  /** The standby of PostgreSQL becomes the primary. */
  | { readonly kind: 'fail-over'; readonly part: 'postgres'; readonly former: 'killed' | 'read-only' }
  /** An entry that no release can read is written to the settlement stream of a model. */
  | { readonly kind: 'bad-entry'; readonly part: 'queue' }
  /** All jobs of a model's queue are removed, or duplicated, for `ms`. */
  | { readonly kind: 'lose-jobs' | 'double-jobs'; readonly part: 'queue'; readonly ms: number }
  | { readonly kind: 'cut'; readonly link: string }
  | {
      readonly kind: 'refuse' | 'stall' | 'half-open'
      readonly link: string
      readonly ms: number
    }
  | { readonly kind: 'delay'; readonly link: string; readonly ms: number; readonly latencyMs: number }
  | {
      readonly kind: 'engine'
      readonly part: string
      readonly change: EngineChange
      readonly ms: number
    }
  /** A request is sent that kills each engine which has given `afterTokens` tokens for it. */
  | {
      readonly kind: 'killer'
      readonly part: typeof ALL_WORKERS
      readonly afterTokens: number
      readonly gateway: number
    }

/** See apps/simulator/faults.ts. */
export type EngineChange = {
  readonly name: 'slow' | 'hangs' | 'dead' | 'dies' | 'refuses'
  readonly settings: Readonly<Record<string, number | boolean>>
}

/** A killer disturbs whichever workers run it. */
export const ALL_WORKERS = 'worker-any'

export type Planned = { readonly atMs: number; readonly fault: Fault }

/** The kinds of parts that a schedule may disturb. */
export type Scope = 'workers' | 'gateways' | 'billings' | 'servers'
export const SCOPES: readonly Scope[] = ['workers', 'gateways', 'billings', 'servers']

const WEIGHTS: Readonly<Record<Scope, number>> = { workers: 55, gateways: 15, billings: 12, servers: 18 }

/**
 * The number of parts of a group that may be disturbed at once. The others serve, so that a request fails only if it
 * has to. A worker counts together with its engines.
 */
const MOST_DISTURBED: Readonly<Record<string, number>> = {
  worker: 2,
  gateway: 1,
  billing: 1,
  server: 1,
}

/** Draws the faults of one round from `random` alone, in order of time. The round lasts until the last fault. */
export function drawSchedule(
  random: Random,
  options: {
    counts: Counts
    faults: number
    meanGapMs: number
    scopes?: readonly Scope[]
    /** If true, PostgreSQL has a standby. */
    hasStandby?: boolean
  },
): Planned[] {
  const { counts, faults, meanGapMs, scopes = SCOPES, hasStandby = false } = options
  const planned: Planned[] = []
  /** The time until which each part is disturbed. */
  const until = new Map<string, number>()
  let atMs = meanGapMs
  while (planned.length < faults) {
    const fault = drawFault(random, { counts, scopes, hasStandby })
    if (isTooMuch(fault, until, atMs)) {
      // Time passes until a draw fits.
      atMs += meanGapMs / 10
      continue
    }
    const name = disturbedBy(fault)
    until.set(name, Math.max(until.get(name) ?? 0, atMs + disturbanceMs(fault)))
    planned.push({ atMs: Math.round(atMs), fault })
    atMs += random.unit() * 2 * meanGapMs
  }
  return planned
}

function isTooMuch(fault: Fault, until: ReadonlyMap<string, number>, atMs: number): boolean {
  const name = disturbedBy(fault)
  const others = Array.from(until).filter(
    ([other, endMs]) => other !== name && endMs > atMs && groupOf(other) === groupOf(name),
  )
  // Only the killer may kill its second engine, so no other worker may be disturbed at the same time.
  if (others.length > 0 && [name, ...others.map(([other]) => other)].includes(ALL_WORKERS)) return true
  return others.length >= (MOST_DISTURBED[groupOf(name)] ?? 1)
}

/** Returns the part that a fault disturbs. Engines and links belong to their app. */
export function disturbedBy(fault: Fault): string {
  const name = 'part' in fault ? fault.part : (fault.link.split('→')[0] ?? '')
  return name.replace('simulator', 'worker')
}

function groupOf(name: string): string {
  return ['queue', 'bus', 'postgres'].includes(name) ? 'server' : (name.split('-')[0] ?? '')
}

/** The longest time until a process is ready again on a busy machine. */
const START_MS = 6_000
/** The longest time of a killer: its tokens, two engines, and the requests beside it that are tried before it. */
const KILLER_MS = 20_000

function disturbanceMs(fault: Fault): number {
  switch (fault.kind) {
    case 'kill':
      return fault.downMs + START_MS
    case 'lose-writes':
      return fault.ms + START_MS
    case 'fail-over':
      return 2 * START_MS
    case 'terminate':
      // Running generations may go on for some seconds.
      return 2 * START_MS
    case 'killer':
      return KILLER_MS
    case 'bad-entry':
      return 0
    case 'cut':
      return 1_500
    case 'step-clock':
    case 'lose-jobs':
    case 'double-jobs':
      // These faults disturb nothing.
      return 0
    case 'freeze':
    case 'read-only':
    case 'delay':
    case 'refuse':
    case 'stall':
    case 'half-open':
    case 'engine':
      return fault.ms + 3_000
  }
}

function drawFault(
  random: Random,
  { counts, scopes, hasStandby }: { counts: Counts; scopes: readonly Scope[]; hasStandby: boolean },
): Fault {
  const total = scopes.reduce((sum, scope) => sum + WEIGHTS[scope], 0)
  let left = random.unit() * total
  const scope = scopes.find((each) => (left -= WEIGHTS[each]) < 0) ?? 'workers'
  switch (scope) {
    case 'workers':
      return drawWorkerFault(random, counts)
    case 'gateways':
      return drawAppFault(random, {
        name: `gateway-${random.int(1, counts.gateways)}`,
        // A gateway that is silent for 10 s counts as dead, and its streams end.
        freezeMs: [500, 7_000],
        servers: ['queue', 'bus', 'billing'],
      })
    case 'billings':
      return drawAppFault(random, {
        name: `billing-${random.int(1, counts.billings)}`,
        freezeMs: [500, 8_000],
        servers: ['queue', 'postgres'],
      })
    case 'servers':
      return drawServerFault(random, hasStandby)
  }
}

function drawWorkerFault(random: Random, { workers, gateways }: Counts): Fault {
  if (random.chance(0.12)) {
    const afterTokens = random.pick([0, 0, random.int(1, 60)])
    return { kind: 'killer', part: ALL_WORKERS, afterTokens, gateway: random.int(1, gateways) }
  }
  const number = random.int(1, workers)
  if (random.chance(0.6))
    return drawAppFault(random, {
      name: `worker-${number}`,
      freezeMs: [1_000, 12_000],
      servers: ['queue', 'bus', 'engine'],
    })
  const part = `simulator-${number}`
  if (random.chance(0.3)) return drawProcessFault(random, part, [1_000, 12_000])
  const changes: readonly EngineChange[] = [
    { name: 'slow', settings: { slowness: random.int(3, 20) } },
    { name: 'hangs', settings: { hangs: true } },
    { name: 'dead', settings: { dead: true } },
    { name: 'dies', settings: { diesAfterTokens: random.int(1, 60) } },
    { name: 'refuses', settings: { refuseConnections: true } },
  ]
  return { kind: 'engine', part, change: random.pick(changes), ms: random.int(1_000, 8_000) }
}

function drawAppFault(
  random: Random,
  options: { name: string; freezeMs: readonly [number, number]; servers: readonly string[] },
): Fault {
  if (random.chance(CLOCK_SHARE)) return drawClockStep(random, options.name)
  if (random.chance(0.5)) return drawProcessFault(random, options.name, options.freezeMs)
  return drawLinkFault(random, `${options.name}→${random.pick(options.servers)}`)
}

const CLOCK_SHARE = 0.15
const HOUR_MS = 3_600_000

function drawClockStep(random: Random, part: string): Fault {
  const aheadMs = random.pick([-HOUR_MS, -60_000, HOUR_MS] as const)
  // The step may be shorter or longer than a gateway may be silent.
  return { kind: 'step-clock', part, ms: random.int(1_000, 20_000), aheadMs }
}

function drawProcessFault(random: Random, part: string, freezeMs: readonly [number, number]): Fault {
  const kind = random.pick(['kill', 'kill', 'freeze', 'freeze', 'terminate'] as const)
  if (kind === 'kill') return { kind, part, downMs: random.int(0, 3_000) }
  return kind === 'freeze' ? { kind, part, ms: random.int(...freezeMs) } : { kind, part }
}

function drawLinkFault(random: Random, link: string): Fault {
  const kind = random.pick(['cut', 'cut', 'delay', 'refuse', 'stall', 'half-open'] as const)
  if (kind === 'cut') return { kind, link }
  if (kind === 'delay') return { kind, link, ms: random.int(1_000, 6_000), latencyMs: random.int(20, 400) }
  return { kind, link, ms: random.int(500, 6_000) }
}

function drawServerFault(random: Random, hasStandby: boolean): Fault {
  if (random.chance(0.25)) {
    const kind = random.pick(['lose-jobs', 'double-jobs'] as const)
    return { kind, part: 'queue', ms: random.int(500, 5_000) }
  }
  const part = random.pick(['queue', 'queue', 'bus', 'bus', 'postgres', 'postgres'] as const)
  if (part === 'postgres') return drawPostgresFault(random, hasStandby)
  if (part === 'queue' && random.chance(0.25))
    return { kind: 'lose-writes', part, ms: random.int(100, 1_000) }
  if (part === 'queue' && random.chance(0.2)) return { kind: 'bad-entry', part }
  return drawProcessFault(random, part, [500, 5_000])
}

function drawPostgresFault(random: Random, hasStandby: boolean): Fault {
  const part = 'postgres'
  if (hasStandby && random.chance(0.5)) {
    return { kind: 'fail-over', part, former: random.pick(['killed', 'read-only'] as const) }
  }
  if (random.chance(0.5)) return { kind: 'read-only', part, ms: random.int(500, 5_000) }
  return { kind: 'kill', part, downMs: random.int(0, 2_000) }
}

export const KILLER = 'a killer of engines'

/** Returns the kind and the target of a fault, without numbers: `kill worker`, `cut worker→bus`, `engine hangs`. */
export function labelOf(fault: Fault): string {
  if (fault.kind === 'engine') return `engine ${fault.change.name}`
  if (fault.kind === 'killer') return KILLER
  const target = 'part' in fault ? fault.part : fault.link
  return `${fault.kind} ${target.replace(/-\d+/u, '')}`
}

/** Describes a fault in one line for people. */
export function describe(fault: Fault): string {
  const { kind } = fault
  switch (kind) {
    case 'engine':
      return `${fault.part}: engine ${fault.change.name} ${JSON.stringify(fault.change.settings)} for ${fault.ms} ms`
    case 'killer':
      return `${KILLER} after ${fault.afterTokens} tokens, by gateway-${fault.gateway}`
    case 'kill':
      return `kill ${fault.part}, start after ${fault.downMs} ms`
    case 'terminate':
      return `terminate ${fault.part}`
    case 'lose-writes':
      return `kill ${fault.part} and lose the writes of ${fault.ms} ms`
    case 'step-clock':
      return `step the clock of ${fault.part} by ${fault.aheadMs} ms for ${fault.ms} ms`
    case 'read-only':
      return `${fault.part} read-only for ${fault.ms} ms`
    case 'fail-over':
      return `promote the standby of ${fault.part}, the former primary is ${fault.former}`
    case 'bad-entry':
      return `an entry that nobody can read in the settlements of a model`
    case 'lose-jobs':
    case 'double-jobs':
      return `${kind.replace('-', ' all ')} of a model for ${fault.ms} ms`
    case 'freeze':
      return `freeze ${fault.part} for ${fault.ms} ms`
    case 'cut':
      return `cut ${fault.link}`
    case 'delay':
      return `delay ${fault.link} by ${fault.latencyMs} ms for ${fault.ms} ms`
    case 'refuse':
    case 'stall':
    case 'half-open':
      return `${kind} ${fault.link} for ${fault.ms} ms`
  }
}

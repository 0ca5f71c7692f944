import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { settlementStreamKey } from '#libs/queue-redis/keys.ts'
import type { FaultyCluster, Link } from '#test/support/faulty-cluster/faulty-cluster.ts'
import type { Part } from '#test/support/faulty-cluster/part.ts'
import type { LinkState } from '#test/support/faulty-cluster/tcp-proxy.ts'
import { BAD_ENTRY } from './check-keys.ts'
import { disturbJobs } from './disturb-jobs.ts'
import { runKiller } from './run-killer.ts'
import { ALL_WORKERS, describe, disturbedBy, labelOf, type Fault, type Planned } from './schedule.ts'

/** Effects of a fault may appear for this long after its end, because a process has to be found again. */
export const AFTERMATH_MS = 4_000

/** A fault that happened. */
export type Done = {
  readonly label: string
  /** The part that the fault disturbed. */
  readonly disturbed: string
  readonly startMs: number
  /** The time at which everything was up again; infinite until then. */
  endMs: number
  /** The problem that was found; only for killers. */
  problem?: string
}

/**
 * Makes the faults at their times. A fault whose target is still down is left out. Resolves when all faults are over
 * and every part is up. Each fault is in `done` from its beginning.
 */
export async function runFaults(
  cluster: FaultyCluster,
  options: { planned: readonly Planned[]; done: Done[]; say: (line: string) => void },
): Promise<void> {
  const { planned, done, say } = options
  const beganMs = performance.now()
  /** The targets that are disturbed now: links and engines may have one fault at a time. */
  const busy = new Set<string>()
  const running: Promise<void>[] = []
  for (const { atMs, fault } of planned) {
    await sleep(Math.max(0, beganMs + atMs - performance.now()))
    const target = 'part' in fault ? fault.part : fault.link
    const atS = ((performance.now() - beganMs) / 1_000).toFixed(1).padStart(6)
    if (
      busy.has(target) ||
      ('part' in fault && fault.part !== ALL_WORKERS && !partOf(cluster, fault.part).isUp())
    ) {
      say(`${atS} s  (left out, still disturbed: ${describe(fault)})`)
      continue
    }
    say(`${atS} s  ${describe(fault)}`)
    busy.add(target)
    const record: Done = {
      label: labelOf(fault),
      disturbed: disturbedBy(fault),
      startMs: performance.now(),
      endMs: Number.POSITIVE_INFINITY,
    }
    done.push(record)
    const over = make(cluster, { fault, record, done }).finally(() => {
      record.endMs = performance.now()
      busy.delete(target)
    })
    // The failure is reported below; until then the rejection must not count as unhandled.
    over.catch(() => undefined)
    running.push(over)
  }
  await Promise.all(running)
}

async function make(
  cluster: FaultyCluster,
  { fault, record, done }: { fault: Fault; record: Done; done: readonly Done[] },
): Promise<void> {
  switch (fault.kind) {
    case 'kill':
      return await partOf(cluster, fault.part).killAndStart(fault.downMs)
    case 'terminate':
      return await partOf(cluster, fault.part).stopAndStart()
    case 'freeze':
      return await partOf(cluster, fault.part).freeze(fault.ms)
    case 'step-clock':
      return await cluster.stepClock(fault.part, fault)
    case 'lose-writes':
      return await cluster.loseWrites(fault.ms)
    case 'read-only':
      return await cluster.makeReadOnly(fault.ms)
    case 'fail-over':
      return await cluster.failOver(fault.former)
    case 'bad-entry':
      return await writeBadEntry(cluster)
    case 'lose-jobs':
    case 'double-jobs':
      return await disturbJobs(cluster.queueUrl, fault)
    case 'cut':
      linkOf(cluster, fault.link).cut()
      return
    case 'delay':
      return await holdState(linkOf(cluster, fault.link), { kind: 'delayed', ms: fault.latencyMs }, fault.ms)
    case 'refuse':
      return await holdState(linkOf(cluster, fault.link), { kind: 'refused' }, fault.ms)
    case 'stall':
      return await holdState(linkOf(cluster, fault.link), { kind: 'stalled' }, fault.ms)
    case 'half-open':
      return await holdState(linkOf(cluster, fault.link), { kind: 'half-open' }, fault.ms)
    case 'engine':
      return await changeEngines(cluster, fault)
    case 'killer': {
      const problem = await runKiller(cluster, fault, () => done.filter((each) => isBeside(each, record)))
      if (problem !== null) record.problem = problem
      return
    }
  }
}

const isBeside = (each: Done, record: Done) => each !== record && each.endMs + AFTERMATH_MS > record.startMs

async function writeBadEntry(cluster: FaultyCluster): Promise<void> {
  const redis = new Redis(cluster.queueUrl, { maxRetriesPerRequest: 0, retryStrategy: null })
  redis.on('error', () => {})
  // If the queue Redis is disturbed at this moment, no entry is written.
  await redis.xadd(settlementStreamKey('demo-chat'), '*', 'id', BAD_ENTRY, 'epoch', '1').catch(() => null)
  redis.disconnect()
}

async function holdState(link: Link, state: LinkState, ms: number): Promise<void> {
  link.setState(state)
  await sleep(ms)
  link.setState({ kind: 'open' })
}

const HEALTHY = {
  slowness: 1,
  hangs: false,
  dead: false,
  diesAfterTokens: null,
  refuseConnections: false,
}

async function changeEngines(
  cluster: FaultyCluster,
  { part, change, ms }: Extract<Fault, { kind: 'engine' }>,
): Promise<void> {
  const simulator = cluster.simulators.find(({ name }) => name === part)
  if (simulator === undefined) throw new Error(`there is no ${part}`)
  const startedAs = simulator.pids().length
  try {
    await cluster.changeEngines(simulator, change.settings)
    await sleep(ms)
    // An engine that died starts again only when `dead` ends.
    if (change.name === 'dies') await cluster.changeEngines(simulator, { ...HEALTHY, dead: true })
    await cluster.changeEngines(simulator, HEALTHY)
  } catch (error) {
    // A simulator that was killed meanwhile starts without faults, so its error does not matter.
    if (simulator.isUp() && simulator.pids().length === startedAs) throw error
  }
}

function partOf(cluster: FaultyCluster, name: string): Part {
  const part = cluster.parts.find((each) => each.name === name)
  if (part === undefined) throw new Error(`there is no ${name}`)
  return part
}

function linkOf(cluster: FaultyCluster, name: string): Link {
  const link = cluster.links.find((each) => each.name === name)
  if (link === undefined) throw new Error(`there is no link ${name}`)
  return link
}

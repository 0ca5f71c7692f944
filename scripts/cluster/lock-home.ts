import { linkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { GuardedGroup, endProcess } from '../servers/end-process.ts'
import { identifyProcess, isRunning, ProcessIdentity } from '../servers/process-identity.ts'
import { SetupError } from '../servers/setup-error.ts'
import { readJson, writePrivate } from './private-file.ts'

/** A process of the cluster and its addresses, by role: `ops`, `admin`, `http`, `redis`, `postgres`. */
const Member = GuardedGroup.extend({ addresses: z.record(z.string(), z.string()) })
export type Member = z.infer<typeof Member>

/** cluster.json: the process that runs the cluster of this folder, and the processes that it started. */
const ClusterFile = z.strictObject({
  address: z.string(),
  runner: ProcessIdentity,
  processes: z.array(Member),
})
type ClusterFile = z.infer<typeof ClusterFile>

export type HomeLock = {
  /**
   * Adds a started process to cluster.json. If the runner of the cluster and its guard (`createGuard`) are both killed,
   * the next start ends the processes that cluster.json names.
   */
  record(process: Member): void
  release(): void
}

/**
 * Makes this process the only one that runs the cluster of `home`. If another process runs it, throws a SetupError with
 * the address of the running cluster. A runner that was killed may have left processes. Each process that cluster.json
 * names is ended first, if a process with its id and its start time still runs.
 */
export async function lockHome(home: string, address: string): Promise<HomeLock> {
  const path = join(home, 'cluster.json')
  const runner = identifyProcess(process.pid)
  if (runner === undefined)
    throw new SetupError('/proc cannot be read, so running processes cannot be identified.')
  const before = readJson(path, ClusterFile)
  if (before !== undefined) {
    if (isRunning(before.runner)) throw alreadyRuns(before)
    for (const group of before.processes.reverse()) await endProcess(group)
    rmSync(path, { force: true })
  }
  const mine: ClusterFile = { address, runner, processes: [] }
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, JSON.stringify(mine), { mode: 0o600 })
  try {
    // The link appears complete or not at all, and only one process can create it, so of two simultaneous starts one
    // wins.
    linkSync(draft, path)
  } catch {
    const winner = readJson(path, ClusterFile)
    throw winner === undefined ? new SetupError(`${path} cannot be written.`) : alreadyRuns(winner)
  } finally {
    rmSync(draft, { force: true })
  }
  return {
    record(member) {
      mine.processes.push(member)
      writePrivate(path, JSON.stringify(mine))
    },
    release: () => rmSync(path, { force: true }),
  }
}

function alreadyRuns(other: ClusterFile): SetupError {
  return new SetupError(
    `Millrace already runs at ${other.address} (process ${other.runner.pid}); stop that one first.`,
  )
}

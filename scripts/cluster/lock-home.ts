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
   * Writes a process to the file. If this process and its guard (`createGuard`) are both killed, a later start ends the
   * processes of the file.
   */
  record(process: Member): void
  release(): void
}

/**
 * Makes this process the only one that runs the cluster of `home`. Throws a SetupError with the address if another
 * process runs it. Processes left by a killed runner are ended first, if both their number and their start time match
 * the file.
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

import { linkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { Charge, endProcess } from '../servers/end-process.ts'
import { identifyProcess, isRunning, ProcessIdentity } from '../servers/process-identity.ts'
import { SetupError } from '../servers/setup-error.ts'
import { readJson, writePrivate } from './private-file.ts'

/** A process of the cluster and where it listens, by role: `ops`, `admin`, `http`, `redis`, `postgres`. */
const Member = Charge.extend({ addresses: z.record(z.string(), z.string()) })
export type Member = z.infer<typeof Member>

/** cluster.json: who runs the cluster of this folder, and the processes that it started. */
const ClusterFile = z.strictObject({
  address: z.string(),
  runner: ProcessIdentity,
  processes: z.array(Member),
})
type ClusterFile = z.infer<typeof ClusterFile>

export type Claim = {
  /** Notes a process, so that a later start can end it if we and the guard are both killed. */
  record(process: Member): void
  release(): void
}

/**
 * Makes this process the one that runs the cluster of `home`. Throws a SetupError, with the address, when
 * another does. What a killed predecessor left is ended first; a process counts as left only when its number
 * and its start time both match what was noted.
 */
export async function claimHome(home: string, address: string): Promise<Claim> {
  const path = join(home, 'cluster.json')
  const runner = identifyProcess(process.pid)
  if (runner === undefined)
    throw new SetupError('/proc cannot be read, so running processes cannot be told apart.')
  const before = readJson(path, ClusterFile)
  if (before !== undefined) {
    if (isRunning(before.runner)) throw alreadyRuns(before)
    for (const charge of before.processes.reverse()) await endProcess(charge)
    rmSync(path, { force: true })
  }
  const mine: ClusterFile = { address, runner, processes: [] }
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, JSON.stringify(mine), { mode: 0o600 })
  try {
    // A link appears whole or not at all, and only once: of two starts in the same moment one wins.
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

import { readFileSync, readdirSync } from 'node:fs'
import { readResidentKib } from '../../bench/harness/process-cpu.ts'
import type { FaultyCluster } from '#test/support/faulty-cluster/faulty-cluster.ts'

/** Enough for an app at rest. An app that leaks the state of one stream per request exceeds it within minutes. */
const MOST_RESIDENT_MIB = 400

/** Returns the problems of the processes at rest: too much memory, an end that no fault caused, no end when stopped. */
export function checkProcesses(cluster: FaultyCluster): { problems: string[]; largestMib: number } {
  const problems = cluster.parts.flatMap((part) => part.problems())
  let largestMib = 0
  for (const part of [...cluster.gateways, ...cluster.workers, ...cluster.billings]) {
    const mib = readResidentKib(part.process().pid) / 1_024
    largestMib = Math.max(largestMib, mib)
    if (mib > MOST_RESIDENT_MIB) problems.push(`${part.name} uses ${mib.toFixed(0)} MiB`)
  }
  return { problems, largestMib }
}

/** Returns the processes that still run, among these and the groups that they led. */
export function findLeftovers(pids: readonly number[]): string[] {
  const ended = new Set(pids)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((name) => {
      const stat = readStat(name)
      return stat !== null && ended.has(stat.group) && stat.state !== 'Z'
        ? [`process ${name} (${stat.command}) is left`]
        : []
    })
}

function readStat(pid: string): { command: string; state: string; group: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const end = stat.lastIndexOf(')')
    const [state = '', , group] = stat.slice(end + 2).split(' ')
    return { command: stat.slice(stat.indexOf('(') + 1, end), state, group: Number(group) }
  } catch {
    // The process ended while it was being looked at.
    return null
  }
}

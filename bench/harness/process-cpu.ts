import { readFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'

const TICKS_PER_S = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** CPU time that a process has used so far, user and system, in µs; from /proc (10 ms resolution). */
export function readCpuUs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The command's name is in parentheses and may hold spaces; utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_PER_S
}

/** Resident memory of a process, in KiB. */
export function readResidentKib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const match = /^VmRSS:\s+(\d+) kB$/mu.exec(status)
  if (match === null) throw new Error(`process ${pid} has no resident memory`)
  return Number(match[1])
}

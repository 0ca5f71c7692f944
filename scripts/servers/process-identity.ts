import { readFileSync } from 'node:fs'
import { z } from 'zod'

/**
 * Identifies a process by its number and its start time, so that a later process with the same number differs. The
 * start time is in clock ticks since the boot that `bootId` names (proc(5), field 22 of `stat`).
 */
export const ProcessIdentity = z.strictObject({
  pid: z.int().min(2),
  startTicks: z.string(),
  bootId: z.string(),
})
export type ProcessIdentity = z.infer<typeof ProcessIdentity>

/**
 * Returns the identity of a running process; undefined if no process has this number, or if the process is a zombie.
 */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  try {
    // The second field is the command's name in parentheses and may itself contain spaces and parentheses.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, startTicks] = [fields[0], fields[19]]
    if (startTicks === undefined || state === 'Z' || state === 'X') return undefined
    return { pid, startTicks, bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() }
  } catch {
    return undefined
  }
}

/** Returns true if this process still runs. A later process with the same number does not count. */
export function isRunning(identity: ProcessIdentity): boolean {
  const now = identifyProcess(identity.pid)
  return now !== undefined && now.startTicks === identity.startTicks && now.bootId === identity.bootId
}

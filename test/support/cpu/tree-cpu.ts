import { readdirSync, readFileSync } from 'node:fs'

/**
 * The unit of times in `/proc`: on every platform Linux reports processor time to programs in hundredths of a second.
 */
const TICK_MS = 10

/**
 * Returns the processor time (user and system, in ms) that a process and its descendants have used so far. A descendant
 * counts while it runs, and after its end if its parent has waited for it. A descendant that outlives its parent does
 * not count.
 *
 * Source: fields 14 to 17 of proc_pid_stat(5).
 */
export function readTreeCpuMs(pid: number): number {
  try {
    const [user, system, childrenUser, childrenSystem] = statFields(pid).slice(11, 15).map(Number)
    const own = ((user ?? 0) + (system ?? 0) + (childrenUser ?? 0) + (childrenSystem ?? 0)) * TICK_MS
    return childrenOf(pid).reduce((sum, child) => sum + readTreeCpuMs(child), own)
  } catch {
    // The process has ended. Once its parent has waited for it, its time is included in the parent's time.
    return 0
  }
}

/**
 * Returns the fields of `/proc/PID/stat` that follow the command's name. The fields are not counted from the beginning
 * of the line, because the name may contain any character. The first returned field is field 3 in proc_pid_stat(5).
 */
function statFields(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Returns the children of all threads, because each thread has its own. */
function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const children = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim()
    return children === '' ? [] : children.split(' ').map(Number)
  })
}

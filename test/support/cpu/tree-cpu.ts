import { readdirSync, readFileSync } from 'node:fs'

/** Of `/proc`: the kernel reports processor time to programs in hundredths of a second on every platform of Linux. */
const TICK_MS = 10

/**
 * The processor time (user and system, milliseconds) that a process and its descendants have used so far: those that
 * run, and those that ended and were waited for. A descendant that outlives its parent is missing.
 *
 * Source of the fields: proc_pid_stat(5), 14 to 17.
 */
export function readTreeCpuMs(pid: number): number {
  try {
    const [user, system, childrenUser, childrenSystem] = statFields(pid).slice(11, 15).map(Number)
    const own = ((user ?? 0) + (system ?? 0) + (childrenUser ?? 0) + (childrenSystem ?? 0)) * TICK_MS
    return childrenOf(pid).reduce((sum, child) => sum + readTreeCpuMs(child), own)
  } catch {
    // It ended meanwhile; its parent has its time once it was waited for.
    return 0
  }
}

/** The fields behind the command's name, which may contain anything; the first is the third of the manual. */
function statFields(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Each thread has children of its own. */
function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const children = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim()
    return children === '' ? [] : children.split(' ').map(Number)
  })
}

import { readFileSync } from 'node:fs'

/**
 * Returns the processor time in seconds (user and system) of all processes that this process started and waited for,
 * and of their own children. Source of the fields: proc_pid_stat(5), 16 and 17, in hundredths of a second.
 */
export function readChildrenCpuSeconds() {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
  return (Number(user) + Number(system)) / 100
}

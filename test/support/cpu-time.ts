/**
 * Returns the processor time of this process so far, of all threads, in ms. Unlike elapsed time it does not grow
 * because the machine is busy.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

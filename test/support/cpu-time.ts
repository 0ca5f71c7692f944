/**
 * Returns the processor time that all threads of this process have used so far, in ms. Other processes on a busy machine
 * lengthen the elapsed time, but not this time.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

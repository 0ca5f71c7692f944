/** Processor time of this process so far, all threads included, in milliseconds. Unlike the time of day it is not longer on a busy machine. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

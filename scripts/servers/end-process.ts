import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { isRunning, ProcessIdentity } from './process-identity.ts'

/** How a process group is asked to stop, and how long it may take before it is killed. */
export const StopPlan = z.strictObject({
  signal: z.enum(['SIGTERM', 'SIGINT']),
  graceMs: z.int().min(0),
})
export type StopPlan = z.infer<typeof StopPlan>

/** A process group that somebody must end: the leader's identity and how. */
export const Charge = z.strictObject({ name: z.string(), identity: ProcessIdentity, stop: StopPlan })
export type Charge = z.infer<typeof Charge>

/**
 * Ends a process group that is not (or no longer) our child: asks, waits for the grace, kills. Does nothing
 * when the leader is gone. Never throws.
 */
export async function endProcess({ identity, stop }: Charge): Promise<void> {
  if (!isRunning(identity)) return
  signalGroup(identity.pid, stop.signal)
  const deadline = Date.now() + stop.graceMs
  while (isRunning(identity)) {
    if (Date.now() > deadline) {
      signalGroup(identity.pid, 'SIGKILL')
      return
    }
    await sleep(20)
  }
}

/** Signals a whole process group; one that has ended already is fine. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal)
  } catch {
    // ESRCH: it ended by itself, which is what the caller wanted.
  }
}

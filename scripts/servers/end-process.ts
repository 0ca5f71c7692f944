import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { isRunning, ProcessIdentity } from './process-identity.ts'

/** The signal that asks a process group to stop, and the time after which it is killed. */
export const StopPlan = z.strictObject({
  signal: z.enum(['SIGTERM', 'SIGINT']),
  graceMs: z.int().min(0),
})
export type StopPlan = z.infer<typeof StopPlan>

/** A process group that must not outlive its owner: the identity of its leader, and how to stop the group. */
export const GuardedGroup = z.strictObject({ name: z.string(), identity: ProcessIdentity, stop: StopPlan })
export type GuardedGroup = z.infer<typeof GuardedGroup>

/**
 * Ends a process group, which need not be a child of this process. Sends the signal of `stop`, and kills the group if
 * its leader still runs after `stop.graceMs`. Does nothing if the leader has already ended. Never throws.
 */
export async function endProcess({ identity, stop }: GuardedGroup): Promise<void> {
  if (!isRunning(identity)) return
  signalGroup(identity.pid, stop.signal)
  const deadline = performance.now() + stop.graceMs
  while (isRunning(identity)) {
    if (performance.now() > deadline) {
      signalGroup(identity.pid, 'SIGKILL')
      return
    }
    await sleep(20)
  }
}

/** Sends a signal to a whole process group. Does nothing if the group has ended already. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal)
  } catch {
    // ESRCH: the group has ended already.
  }
}

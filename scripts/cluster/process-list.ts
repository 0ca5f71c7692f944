import { lastLines, type RunningProcess } from '../servers/start-process.ts'
import { SetupError } from '../servers/setup-error.ts'
import type { Say } from '../servers/say.ts'
import type { Claim, Member } from './claim-home.ts'

/** Clients before what they call, so that each part stops with everything it needs still there. */
const STOP_ORDER = ['gateway', 'worker', 'simulator', 'billing', 'postgres', 'redis']

export type ProcessList = {
  /** Takes charge of a started process: notes it on disk and watches it. */
  add(started: RunningProcess, addresses: Member['addresses']): void
  /** Stops everything in order. */
  stopAll(): Promise<void>
  /** Kills everything at once. */
  killAll(): void
}

/** The cluster's processes. One that ends although nobody stopped it is told to `onUnexpectedEnd`. */
export function createProcessList(options: {
  claim: Claim
  say: Say
  onUnexpectedEnd: (error: SetupError) => void
}): ProcessList {
  const { claim, say, onUnexpectedEnd } = options
  const running: RunningProcess[] = []
  let stopping = false

  async function watch(started: RunningProcess): Promise<void> {
    const how = await started.exited
    if (stopping) return
    onUnexpectedEnd(
      new SetupError(
        `${started.name} ended unexpectedly (${how}). The end of ${started.logFile}:\n${lastLines(started)}`,
      ),
    )
  }

  return {
    add(started, addresses) {
      running.push(started)
      claim.record({ name: started.name, identity: started.identity, stop: started.stopPlan, addresses })
      void watch(started)
    },
    async stopAll() {
      stopping = true
      for (const name of STOP_ORDER) {
        const group = running.filter((process) => process.name === name && !process.hasExited())
        if (group.length > 0) say(`stopping ${name}`)
        await Promise.all(group.map((process) => process.stop()))
      }
      if (running.length > 0) say('everything is stopped')
    },
    killAll() {
      stopping = true
      for (const process of running) process.signal('SIGKILL')
    },
  }
}

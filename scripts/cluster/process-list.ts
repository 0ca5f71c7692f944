import { lastLines, type RunningProcess } from '../servers/start-process.ts'
import { SetupError } from '../servers/setup-error.ts'
import type { Say } from '../servers/say.ts'
import type { HomeLock, Member } from './lock-home.ts'

/** Clients stop before their servers, so that everything that a part needs still runs while the part stops. */
const STOP_ORDER = ['console', 'gateway', 'worker', 'simulator', 'billing', 'postgres', 'redis']

export type ProcessList = {
  /** Takes over a started process: writes it to the lock file of the home folder and watches it. */
  add(started: RunningProcess, addresses: Member['addresses']): void
  /** Stops everything in order. */
  stopAll(): Promise<void>
  /** Kills everything at once. */
  killAll(): void
}

/** The cluster's processes. `onUnexpectedEnd` is called when a process ends without having been stopped. */
export function createProcessList(options: {
  lock: HomeLock
  say: Say
  onUnexpectedEnd: (error: SetupError) => void
}): ProcessList {
  const { lock, say, onUnexpectedEnd } = options
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
      if (!STOP_ORDER.includes(started.name)) throw new Error(`${started.name} would not be stopped`)
      lock.record({ name: started.name, identity: started.identity, stop: started.stopPlan, addresses })
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

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Charge } from './end-process.ts'

export type Guard = {
  /** From now on, the guard ends this process group if we end first. */
  watch(charge: Charge): void
  release(pid: number): void
}

/**
 * Starts a small process of its own that outlives us, even our SIGKILL, and ends the process groups that we
 * leave. It learns of our end when the pipe closes, which the kernel does for every kind of death. It keeps
 * nothing waiting: the event loop may end while it runs.
 */
export function createGuard(): Guard {
  const guard = spawn(process.execPath, [fileURLToPath(new URL('guard.ts', import.meta.url))], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.unref()
  const { stdin } = guard
  // Without its guard a process still runs and still stops in order; only our own sudden death leaves orphans.
  guard.on('error', () => {})
  stdin.on('error', () => {})
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  const send = (line: object) => void stdin.write(`${JSON.stringify(line)}\n`)
  return {
    watch: (charge) => send({ verb: 'watch', charge }),
    release: (pid) => send({ verb: 'release', pid }),
  }
}

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { COMPILE_CACHE } from './compile-cache.ts'
import type { GuardedGroup } from './end-process.ts'

export type Guard = {
  /** Watches this process group from now on: the guard ends the group if this process ends first. */
  watch(group: GuardedGroup): void
  release(pid: number): void
}

/**
 * Starts a small process, the guard, that outlives this process even if this process is killed with SIGKILL. When this
 * process has ended, the guard ends the process groups that it still watches. It notices the end because the kernel
 * closes the pipe between the two processes. The guard does not keep the event loop of this process alive.
 */
export function createGuard(): Guard {
  const guard = spawn(process.execPath, [fileURLToPath(new URL('guard.ts', import.meta.url))], {
    detached: true,
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.unref()
  const { stdin } = guard
  // If the guard cannot start, everything still runs and stops in order. But if this process is killed, the processes
  // that it started go on.
  guard.on('error', () => {})
  stdin.on('error', () => {})
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  const send = (line: object) => void stdin.write(`${JSON.stringify(line)}\n`)
  return {
    watch: (group) => send({ verb: 'watch', group }),
    release: (pid) => send({ verb: 'release', pid }),
  }
}

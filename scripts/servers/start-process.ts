import { spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { createGuard, type Guard } from './create-guard.ts'
import { signalGroup, type StopPlan } from './end-process.ts'
import { SetupError } from './setup-error.ts'
import { identifyProcess, type ProcessIdentity } from './process-identity.ts'

export type RunningProcess = {
  name: string
  pid: number
  identity: ProcessIdentity
  stopPlan: StopPlan
  logFile: string
  /** Resolves when the process has ended, with a text such as `exit code 1` or `signal SIGKILL`. */
  exited: Promise<string>
  hasExited(): boolean
  /** Returns everything that this process has written so far, on both streams. */
  logs(): string
  /** Sends the stop signal, and kills the process after the grace. Resolves when the process has ended. */
  stop(): Promise<void>
  /** Kills the process with SIGKILL. Resolves when it has ended. */
  kill(): Promise<void>
  signal(signal: NodeJS.Signals): void
}

export type ProcessUser = { uid: number; gid: number }

export type ProcessOptions = {
  name: string
  command: string
  args: readonly string[]
  cwd: string
  env: NodeJS.ProcessEnv
  logFile: string
  stop: StopPlan
  /** Another user to run the process as; needs root. */
  user?: ProcessUser | undefined
  /** Text for the process's standard input, which keeps secrets off the command line. */
  input?: string
}

let guard: Guard | undefined

/**
 * Starts a process in its own process group and puts the group under the guard (`createGuard`). A Ctrl-C in the
 * terminal does not reach the group, so the caller decides when each group stops. If the calling process ends before
 * the group, the guard ends the group. Rejects if the command cannot be started.
 */
export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  const { name, logFile, stop: stopPlan } = options
  guard ??= createGuard()
  const log = openSync(logFile, 'a', 0o600)
  const logStart = fstatSync(log).size
  const child = spawn(options.command, options.args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: [options.input === undefined ? 'ignore' : 'pipe', log, log],
    ...options.user,
  })
  closeSync(log)
  const started = Promise.withResolvers<number>()
  const exited = Promise.withResolvers<string>()
  let ended = false
  child.once('error', (error) =>
    started.reject(new Error(`cannot start ${name}: ${error.message}`, { cause: error })),
  )
  child.once('spawn', () => {
    if (child.pid === undefined) started.reject(new Error(`cannot start ${name}: no process id`))
    else started.resolve(child.pid)
  })
  child.once('exit', (code, signal) => {
    ended = true
    if (child.pid !== undefined) guard?.release(child.pid)
    exited.resolve(signal === null ? `exit code ${code}` : `signal ${signal}`)
  })
  const pid = await started.promise
  // A process that has already ended has no identity, and nothing has to be guarded.
  const identity = identifyProcess(pid) ?? { pid, startTicks: '', bootId: '' }
  guard.watch({ name, identity, stop: stopPlan })
  child.stdin?.on('error', () => {})
  child.stdin?.end(options.input)

  const signal = (which: NodeJS.Signals) => {
    if (!ended) signalGroup(pid, which)
  }
  return {
    name,
    pid,
    identity,
    stopPlan,
    logFile,
    exited: exited.promise,
    hasExited: () => ended,
    logs: () => readFileSync(logFile).subarray(logStart).toString(),
    signal,
    async stop() {
      signal(stopPlan.signal)
      // A stopped process (SIGSTOP) handles no other signal before SIGCONT.
      signal('SIGCONT')
      const timer = setTimeout(() => signal('SIGKILL'), stopPlan.graceMs)
      await exited.promise
      clearTimeout(timer)
    },
    async kill() {
      signal('SIGKILL')
      await exited.promise
    },
  }
}

/**
 * Polls `probe` until it resolves with true. Rejects with the last log lines if the process ends before that, or if
 * `limitMs` have passed. Rejects with the signal's reason if the signal aborts. A process that still runs is stopped
 * before the rejection, because the caller has no handle yet with which to stop it.
 */
export async function waitUntilReady(
  running: RunningProcess,
  options: { probe: () => Promise<boolean>; limitMs: number; signal: AbortSignal | undefined },
): Promise<void> {
  const { probe, limitMs, signal } = options
  const deadline = performance.now() + limitMs
  while (!(await probe())) {
    if (running.hasExited()) {
      throw new SetupError(
        `${running.name} ended while it started (${await running.exited}):\n${lastLines(running)}`,
      )
    }
    if (signal?.aborted === true || performance.now() > deadline) {
      await running.stop()
      signal?.throwIfAborted()
      throw new SetupError(`${running.name} was not ready within ${limitMs / 1000} s:\n${lastLines(running)}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** Returns the end of a process's log, for people. */
export function lastLines(running: RunningProcess, count = 15): string {
  return running.logs().trimEnd().split('\n').slice(-count).join('\n')
}

import { setTimeout as sleep } from 'node:timers/promises'

/** A process of a part while it runs. */
export type PartProcess = {
  readonly pid: number
  /** Kills the process (kill -9). Resolves when it has ended. */
  kill(): Promise<void>
  /** Asks the process to stop. Resolves when it has ended. */
  stop(): Promise<void>
  signal?(signal: NodeJS.Signals): void
  /** Resolves with how the process ended. */
  readonly exited?: Promise<string>
  logs?(): string
}

export type PartEnd = { readonly atMs: number; readonly how: 'killed' | 'stopped' }

/** A process that faults can end. It is started again after each fault. */
export type Part = {
  readonly name: string
  isUp(): boolean
  /** Returns the running process; throws if there is none. */
  process(): PartProcess
  /** Returns every process id that the part has had. */
  pids(): readonly number[]
  /** Returns each end caused by a fault, in order of time. */
  ends(): readonly PartEnd[]
  start(): Promise<void>
  /** Ends the process with kill -9 or SIGTERM, and does not start it again. Resolves when it has ended. */
  end(how: PartEnd['how']): Promise<void>
  /** Kills the process (kill -9) and starts it again after `downMs`. Resolves when it is ready. */
  killAndStart(downMs: number, whileDown?: () => void): Promise<void>
  /** Sends SIGTERM, and starts the process again when it has ended. */
  stopAndStart(): Promise<void>
  /** Stops the process with SIGSTOP for `ms`. */
  freeze(ms: number): Promise<void>
  /** Ends the process permanently. */
  stop(): Promise<void>
  /** Returns the unexpected events: the process ended by itself, or had to be killed after its grace. */
  problems(): readonly string[]
}

const STARTS = 30
const RESTART_MS = 500

/**
 * Creates a part. `startProcess` may reject while the servers that the process needs are down; `startProcess` is then
 * called again, as an orchestrator does, but at most `STARTS` times in all. A process that ends by itself is started
 * again too, and counts as a problem.
 */
export function createPart(name: string, startProcess: () => Promise<PartProcess>): Part {
  const pids: number[] = []
  const ends: PartEnd[] = []
  const problems: string[] = []
  let running: PartProcess | null = null
  let starting: Promise<void> | null = null
  /** The process that is expected to end. */
  let doomed: PartProcess | null = null
  const over = new AbortController()

  async function startPatiently() {
    for (let attempt = 1; !over.signal.aborted; attempt += 1) {
      try {
        const started = await startProcess()
        pids.push(started.pid)
        running = started
        void watch(started)
        return
      } catch (error) {
        if (attempt === STARTS) throw error
        await sleep(RESTART_MS)
      }
    }
  }

  async function watch(started: PartProcess) {
    if (started.exited === undefined) return
    const how = await started.exited
    if (doomed === started || over.signal.aborted) return
    running = null
    problems.push(`${name} ended by itself (${how}):\n${lastWords(started)}`)
    await start().catch((error: unknown) => problems.push(`${name} does not start again: ${String(error)}`))
  }

  async function start() {
    starting ??= startPatiently().finally(() => {
      starting = null
    })
    await starting
  }

  function present(): PartProcess {
    if (running === null) throw new Error(`${name} is not running`)
    return running
  }

  async function end(how: PartEnd['how']) {
    const ending = present()
    doomed = ending
    running = null
    ends.push({ atMs: performance.now(), how })
    if (how === 'killed') await ending.kill()
    else await ending.stop()
    if (how === 'stopped' && (await ending.exited) === 'signal SIGKILL')
      problems.push(`${name} did not stop within its grace:\n${lastWords(ending)}`)
  }

  return {
    name,
    isUp: () => running !== null,
    process: present,
    pids: () => pids,
    ends: () => ends,
    start,
    end,
    async killAndStart(downMs, whileDown) {
      await end('killed')
      whileDown?.()
      await sleep(downMs)
      await start()
    },
    async stopAndStart() {
      await end('stopped')
      await start()
    },
    async freeze(ms) {
      const frozen = present()
      frozen.signal?.('SIGSTOP')
      await sleep(ms)
      frozen.signal?.('SIGCONT')
    },
    async stop() {
      over.abort()
      // A start that succeeds leaves a process that must be stopped; a failed start leaves none.
      await starting?.catch(() => undefined)
      await running?.stop()
      running = null
    },
    problems: () => problems,
  }
}

function lastWords(ended: PartProcess): string {
  return (ended.logs?.() ?? '').trimEnd().split('\n').slice(-10).join('\n')
}

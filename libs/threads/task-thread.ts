// This code is used in place of piscina, because piscina (5.3.2) behaves as follows:
// - A deadline needs an AbortSignal, and tasks with a signal are not counted in the bounded queue (`maxQueue`).
// - A deadline starts when its task is queued, not when the task begins.
// - Tasks with and without a signal overtake each other.
// - Threads have no name in profiles.
import { Worker, type Transferable } from 'node:worker_threads'
import type { Logger } from '#libs/telemetry/logger.ts'
import { toMs, type Reply } from './serve-tasks.ts'

/** One thread that does one task after the other, for work that would block an event loop. */
export type TaskThread<Task> = {
  /**
   * Resolves with the module's answer to a task. The task and the answer are plain data; the objects in `transfer` move
   * to the thread. Messages have no type, so the caller names the type of the answer. Throws a TaskThreadError if the
   * task was not done, and an ordinary error if the module threw.
   */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  run<Answer>(task: Task, transfer?: readonly Transferable[]): Promise<Answer>
  /** False while the thread starts. A task that is given to `run` meanwhile waits until the thread has started. */
  isStarted(): boolean
  /** Resolves when the first thread has started, or has failed to start within its time. */
  readonly started: Promise<void>
  close(): Promise<void>
}

export type TaskThreadLimits = {
  /** Tasks that may wait while one is done. */
  readonly waiting: number
  /**
   * The processor time that one task may use, in ms. The thread is stopped in two cases: its task has used more than
   * `taskMs` of processor time, or the task began more than ten times `taskMs` ago. The second limit is longer, because
   * a task may wait for a processor most of the time, on a machine that is short of processors or was frozen.
   */
  readonly taskMs: number
  readonly heapMib: number
}

/**
 * The reason why a task was not done.
 * - `too-many`: too many tasks wait already.
 * - `too-hard`: the task exceeded its time or memory limit.
 * - `not-started`: its thread did not start.
 * - `unwanted`: nobody waits for the task any more.
 */
type Reason = keyof typeof MESSAGES

const MESSAGES = {
  'too-many': 'too many tasks wait',
  'too-hard': 'the task exceeded its time or memory limit',
  'not-started': 'the thread did not start',
  unwanted: 'nobody waits for the task',
} as const

export class TaskThreadError extends Error {
  readonly reason: Reason

  constructor(reason: Reason) {
    super(MESSAGES[reason])
    this.name = 'TaskThreadError'
    this.reason = reason
  }
}

/**
 * The longest time that a thread may take to start. A start loads the module's imports, which takes half a second, and
 * many times that on a machine that is short of processors.
 */
const START_MS = 60_000

/** The longest time by the clock that a task may take, as a multiple of `taskMs`. */
const MOST_WAITING = 10

/**
 * Runs `module`, which calls `serveTasks`, on a thread. There is at most one thread at a time, in one of these states:
 * - *starting*
 * - *idle*
 * - *busy* with one task
 * - *ending*, because a task exceeded its time or because the thread did not start in time
 *
 * The first thread starts at once, so that the first task need not wait for the start. After a thread has ended, the
 * next task starts a new thread.
 */
export function createTaskThread<Task>(options: {
  /** The thread's name in logs and profiles. */
  name: string
  module: URL
  /** Plain data that the module gets as `workerData`. */
  settings?: unknown
  limits: TaskThreadLimits
  log: Logger
}): TaskThread<Task> {
  const { name, module, settings, limits, log } = options
  const waiting: Work[] = []
  let closed = false
  let busy: Work | null = null
  let timer: NodeJS.Timeout | undefined
  /** The thread's processor time before its present task. */
  let usedMs = 0
  let state: 'none' | 'starting' | 'ready' | 'ending' = 'none'
  const { promise: started, resolve: noteStarted } = Promise.withResolvers<void>()
  const startLimit = setTimeout(noteStarted, START_MS)
  void started.then(() => clearTimeout(startLimit))
  let thread = start()

  function start(): Worker {
    state = 'starting'
    const worker = new Worker(module, {
      name,
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMib },
    })
    worker.on('message', (reply: Reply<never>) => {
      if (state === 'ending') return
      usedMs = reply.usedMs
      if (reply.status !== 'ready') {
        finish()?.reply(reply)
        return
      }
      state = 'ready'
      noteStarted()
      begin()
    })
    worker.on('error', (error) => log.error({ err: error, thread: name }, 'a thread failed'))
    worker.on('exit', () => {
      const reason = state === 'starting' ? 'not-started' : 'too-hard'
      const wasEnding = state === 'ending'
      state = 'none'
      noteStarted()
      if (!wasEnding) finish()?.fail(new TaskThreadError(reason))
      next()
    })
    return worker
  }

  /** Removes the task from the thread and returns it. */
  function finish(): Work | null {
    clearTimeout(timer)
    const finished = busy
    busy = null
    return finished
  }

  function next() {
    if (closed || busy !== null || state === 'ending') return
    busy = waiting.shift() ?? null
    if (busy !== null) begin()
  }

  function begin() {
    if (busy === null) return
    if (state === 'none') thread = start()
    clearTimeout(timer)
    if (state !== 'ready') {
      timer = setTimeout(() => stop('not-started'), START_MS)
      return
    }
    watch(busy, performance.now() + limits.taskMs * MOST_WAITING)
    busy.begin(thread)
  }

  /**
   * Ends the thread when the task has used `taskMs` of processor time, or at `untilMs`. The first check comes `taskMs`
   * after the task began, because a task needs at least this long to use `taskMs` of processor time. If the task has
   * then used less, the next check comes after the remaining part of `taskMs`.
   */
  function watch(task: Work, untilMs: number, usedByTaskMs = 0) {
    const restMs = Math.max(limits.taskMs - usedByTaskMs, 1)
    timer = setTimeout(
      () => {
        if (performance.now() >= untilMs) {
          stop('too-hard')
          return
        }
        // The thread does not answer during a long native call; then the clock decides.
        timer = setTimeout(() => stop('too-hard'), untilMs - performance.now())
        thread.cpuUsage().then(
          (usage) => {
            if (busy !== task || state !== 'ready') return
            clearTimeout(timer)
            const used = toMs(usage) - usedMs
            if (used >= limits.taskMs) stop('too-hard')
            else watch(task, untilMs, used)
          },
          // The thread has ended, which its `exit` reports.
          () => {},
        )
      },
      Math.min(restMs, untilMs - performance.now()),
    )
  }

  function stop(reason: Reason) {
    state = 'ending'
    finish()?.fail(new TaskThreadError(reason))
    void thread.terminate()
  }

  return {
    async run<Answer>(task: Task, transfer: readonly Transferable[] = []) {
      if (closed || waiting.length >= limits.waiting) throw new TaskThreadError('too-many')
      const { promise, resolve, reject } = Promise.withResolvers<Reply<Answer>>()
      waiting.push({
        begin: (on) => on.postMessage(task, transfer),
        reply: resolve,
        fail: reject,
      })
      next()
      const reply = await promise.finally(next)
      if (reply.status === 'done') return reply.answer
      const cause = reply.status === 'failed' ? reply.error : reply
      throw new Error(`a task failed on thread '${name}'`, { cause })
    },
    isStarted: () => state === 'ready',
    started,
    async close() {
      closed = true
      for (const work of waiting.splice(0)) work.fail(new TaskThreadError('too-many'))
      state = 'ending'
      finish()?.fail(new TaskThreadError('too-many'))
      await thread.terminate()
    },
  }
}

type Work = {
  readonly begin: (thread: Worker) => void
  readonly reply: (reply: Reply<never>) => void
  readonly fail: (error: TaskThreadError) => void
}

// Own code and not piscina (5.3.2): there a task with a signal, which its deadline would be, passes the bounded queue
// (`maxQueue` is not applied to it), a deadline starts when the task is queued and not when it begins, tasks with and
// without a signal overtake each other, and threads have no name in profiles.
import { Worker, type Transferable } from 'node:worker_threads'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Reply } from './serve-tasks.ts'

/** One thread that does one task after the other, for work that would block an event loop. */
export type TaskThread<Task> = {
  /**
   * Resolves with the module's answer to a task. Both are plain data; the objects in `transfer` move to the thread.
   * Messages have no type, so the caller names the answer's. Throws a TaskThreadError when the task was not done, and
   * an ordinary one when the module threw.
   */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  run<Answer>(task: Task, transfer?: readonly Transferable[]): Promise<Answer>
  close(): Promise<void>
}

export type TaskThreadLimits = {
  /** Tasks that may wait while one is done. */
  readonly waiting: number
  /** A thread that takes longer for one task, its own start included, is replaced. */
  readonly taskMs: number
  readonly heapMib: number
}

/** A task was not done: `too-many` are waiting already, or it was `too-hard`: it exceeded its time or memory limit. */
export class TaskThreadError extends Error {
  readonly reason: 'too-many' | 'too-hard'

  constructor(reason: 'too-many' | 'too-hard') {
    super(reason === 'too-many' ? 'too many tasks wait' : 'the task exceeded its time or memory limit')
    this.name = 'TaskThreadError'
    this.reason = reason
  }
}

/**
 * Runs `module`, which calls `serveTasks`, on a thread. The thread is *none*, *idle* or *busy* with one task. It starts
 * at once, so that the first task need not wait for it; after it has ended, the next task starts it again.
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
  let thread: Worker | null = start()

  function start(): Worker {
    const started = new Worker(module, {
      name,
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMib },
    })
    started.on('message', (reply: Reply<never>) => {
      if (thread === started) busy?.reply(reply)
    })
    started.on('error', (error) => log.error({ err: error, thread: name }, 'a thread failed'))
    started.on('exit', () => {
      if (thread !== started) return
      thread = null
      busy?.fail(new TaskThreadError('too-hard'))
    })
    return started
  }

  function next() {
    busy = waiting.shift() ?? null
    if (busy === null) return
    thread ??= start()
    busy.begin(thread)
  }

  function replaceThread() {
    const overdue = thread
    thread = null
    busy?.fail(new TaskThreadError('too-hard'))
    void overdue?.terminate()
  }

  return {
    async run<Answer>(task: Task, transfer: readonly Transferable[] = []) {
      if (closed || waiting.length >= limits.waiting) throw new TaskThreadError('too-many')
      const { promise, resolve, reject } = Promise.withResolvers<Reply<Answer>>()
      let timer: NodeJS.Timeout | undefined
      waiting.push({
        begin(on) {
          timer = setTimeout(replaceThread, limits.taskMs)
          on.postMessage(task, transfer)
        },
        reply: resolve,
        fail: reject,
      })
      if (busy === null) next()
      try {
        const reply = await promise
        if (reply.status === 'failed')
          throw new Error(`a task failed on thread '${name}'`, { cause: reply.error })
        return reply.answer
      } finally {
        clearTimeout(timer)
        next()
      }
    },
    async close() {
      closed = true
      for (const work of waiting.splice(0)) work.fail(new TaskThreadError('too-many'))
      const ended = thread
      thread = null
      busy?.fail(new TaskThreadError('too-many'))
      await ended?.terminate()
    },
  }
}

type Work = {
  readonly begin: (thread: Worker) => void
  readonly reply: (reply: Reply<never>) => void
  readonly fail: (error: TaskThreadError) => void
}

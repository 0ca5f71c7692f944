import type { Transferable } from 'node:worker_threads'
import { createTaskThread, TaskThreadError, type TaskThread } from './task-thread.ts'

/** The owner of a task. */
export type TaskOwner = {
  readonly id: string
  /** Called when the turn of the task comes. Returns false if its result is no longer wanted. */
  readonly begin: () => boolean
  /** If it aborts before the turn of the task comes, the task is dropped, and `run` rejects with the signal's reason. */
  readonly signal: AbortSignal
}

export type TaskPool<Task> = {
  /** Runs a task as `TaskThread.run` does. All tasks without an owner share one queue and may use all threads. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  run<Answer>(task: Task, transfer?: readonly Transferable[], owner?: TaskOwner): Promise<Answer>
  /** True if at least one thread has started. */
  isStarted(): boolean
  /** Resolves when the first thread has started, or has failed to start within its time. */
  readonly started: Promise<void>
  close(): Promise<void>
}

/**
 * Creates a pool of up to `size` threads for one kind of task, so that a long task does not delay the others. The first
 * thread starts at once. A further thread starts when a task arrives while all threads are busy. Each owner has its own
 * queue of waiting tasks, and free threads take tasks from the queues in turn. In all queues together, at most
 * `limits.waiting` tasks wait.
 *
 * One owner uses at most `size - 1` threads, so that its tasks leave a thread for the tasks of other owners. If `size`
 * is 1, each owner may use the one thread, and a task waits until the running task has ended. Tasks without an owner
 * may use all threads.
 */
export function createTaskPool<Task>(
  options: Parameters<typeof createTaskThread>[0] & {
    readonly size: number
    /**
     * The most tasks of one owner that may wait. By default there is only the common limit of all owners,
     * `limits.waiting`.
     */
    readonly waitingOfOwner?: number
  },
): TaskPool<Task> {
  const { size, waitingOfOwner = options.limits.waiting, ...each } = options
  const threads: TaskThread<Task>[] = []
  /** The first owner in the map has the next turn. */
  const queues = new Map<string, Turn<Task>[]>()
  const running = new Map<string, number>()
  const first = open()
  const idle = [first]
  let waiting = 0
  let closed = false

  function open(): TaskThread<Task> {
    const opened = createTaskThread<Task>({ ...each, name: `${each.name} ${threads.length}` })
    threads.push(opened)
    return opened
  }

  function mayRun(owner: string): boolean {
    return owner === NOBODY || (running.get(owner) ?? 0) < Math.max(1, size - 1)
  }

  async function take(owner: string, signal?: AbortSignal): Promise<TaskThread<Task>> {
    const queue = queues.get(owner) ?? []
    if (closed) throw new TaskThreadError('too-many')
    const free = mayRun(owner) ? findThread() : undefined
    if (free !== undefined) return begin(owner, free)
    if (waiting >= each.limits.waiting || queue.length >= waitingOfOwner)
      throw new TaskThreadError('too-many')
    const turn = Promise.withResolvers<TaskThread<Task>>()
    queue.push(turn)
    queues.set(owner, queue)
    waiting += 1
    signal?.addEventListener('abort', () => drop(owner, turn, signal.reason), { once: true })
    return await turn.promise
  }

  /** Does nothing once the turn has come. */
  function drop(owner: string, turn: Turn<Task>, reason: unknown): void {
    const queue = queues.get(owner) ?? []
    if (!queue.includes(turn)) return
    queue.splice(queue.indexOf(turn), 1)
    if (queue.length === 0) queues.delete(owner)
    waiting -= 1
    turn.reject(reason)
  }

  function findThread(): TaskThread<Task> | undefined {
    return idle.pop() ?? (threads.length < size ? open() : undefined)
  }

  function begin(owner: string, thread: TaskThread<Task>): TaskThread<Task> {
    running.set(owner, (running.get(owner) ?? 0) + 1)
    return thread
  }

  function giveBack(owner: string, thread: TaskThread<Task>): void {
    const others = (running.get(owner) ?? 1) - 1
    if (others === 0) running.delete(owner)
    else running.set(owner, others)
    const next = takeTurn()
    if (next === null) idle.push(thread)
    else next.turn.resolve(begin(next.owner, thread))
  }

  /**
   * Returns the first task of the first owner who may run a task. That owner's next turn comes after the turns of the
   * other owners.
   */
  function takeTurn(): { owner: string; turn: Turn<Task> } | null {
    for (const [owner, queue] of queues) {
      const turn = mayRun(owner) ? queue.shift() : undefined
      if (turn === undefined) continue
      waiting -= 1
      queues.delete(owner)
      if (queue.length > 0) queues.set(owner, queue)
      return { owner, turn }
    }
    return null
  }

  return {
    async run<Answer>(task: Task, transfer?: readonly Transferable[], owner?: TaskOwner) {
      const id = owner?.id ?? NOBODY
      const thread = await take(id, owner?.signal)
      try {
        if (owner?.begin() === false) throw new TaskThreadError('unwanted')
        return await thread.run<Answer>(task, transfer)
      } finally {
        giveBack(id, thread)
      }
    },
    isStarted: () => threads.some((thread) => thread.isStarted()),
    started: first.started,
    async close() {
      closed = true
      for (const [owner, queue] of queues) {
        queues.delete(owner)
        for (const turn of queue) turn.reject(new TaskThreadError('too-many'))
      }
      await Promise.all(threads.map(async (thread) => await thread.close()))
    },
  }
}

const NOBODY = ''

type Turn<Task> = PromiseWithResolvers<TaskThread<Task>>

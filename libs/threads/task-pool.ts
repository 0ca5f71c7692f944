import { createTaskThread, TaskThreadError, type TaskThread } from './task-thread.ts'

/**
 * Up to `size` threads for one kind of task, so that a task that takes long delays no other. The first starts at once;
 * another one when a task arrives while all are busy. Tasks wait in one queue, of `limits.waiting`, for whichever
 * thread is free next.
 */
export function createTaskPool<Task>(
  options: Parameters<typeof createTaskThread>[0] & { readonly size: number },
): TaskThread<Task> {
  const { size, ...each } = options
  const threads: TaskThread<Task>[] = []
  const waiting: PromiseWithResolvers<TaskThread<Task>>[] = []
  const idle = [open()]
  let closed = false

  function open(): TaskThread<Task> {
    const opened = createTaskThread<Task>({ ...each, name: `${each.name} ${threads.length}` })
    threads.push(opened)
    return opened
  }

  async function take(): Promise<TaskThread<Task>> {
    if (closed) throw new TaskThreadError('too-many')
    const free = idle.pop()
    if (free !== undefined) return free
    if (threads.length < size) return open()
    if (waiting.length >= each.limits.waiting) throw new TaskThreadError('too-many')
    const turn = Promise.withResolvers<TaskThread<Task>>()
    waiting.push(turn)
    return await turn.promise
  }

  function giveBack(thread: TaskThread<Task>): void {
    const next = waiting.shift()
    if (next === undefined) idle.push(thread)
    else next.resolve(thread)
  }

  return {
    async run(task, transfer) {
      const thread = await take()
      try {
        return await thread.run(task, transfer)
      } finally {
        giveBack(thread)
      }
    },
    async close() {
      closed = true
      for (const turn of waiting.splice(0)) turn.reject(new TaskThreadError('too-many'))
      await Promise.all(threads.map(async (thread) => await thread.close()))
    },
  }
}

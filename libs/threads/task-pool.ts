import { createTaskThread, type TaskThread } from './task-thread.ts'

/**
 * Up to `size` threads for one kind of task, so that a task that takes long delays only those on its own thread. The
 * first starts at once; another one when a task arrives while all are busy. A task goes to the thread with the fewest;
 * the limits are each thread's.
 */
export function createTaskPool<Task>(
  options: Parameters<typeof createTaskThread>[0] & { readonly size: number },
): TaskThread<Task> {
  const { size, ...each } = options
  const members = [open(0)]
  let closed = false

  function open(index: number) {
    return { thread: createTaskThread<Task>({ ...each, name: `${each.name} ${index}` }), tasks: 0 }
  }

  function pick() {
    const [first, ...others] = members
    if (first === undefined) throw new Error('a pool has at least one thread')
    const calmest = others.reduce((best, member) => (member.tasks < best.tasks ? member : best), first)
    if (calmest.tasks === 0 || members.length >= size || closed) return calmest
    const added = open(members.length)
    members.push(added)
    return added
  }

  return {
    async run(task, transfer) {
      const member = pick()
      member.tasks += 1
      try {
        return await member.thread.run(task, transfer)
      } finally {
        member.tasks -= 1
      }
    },
    async close() {
      closed = true
      await Promise.all(members.map(async ({ thread }) => await thread.close()))
    },
  }
}

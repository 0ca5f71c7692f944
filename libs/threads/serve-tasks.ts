import { parentPort } from 'node:worker_threads'

/** What a thread says of one task. */
export type Reply<Answer = unknown> =
  | { readonly status: 'done'; readonly answer: Answer }
  | { readonly status: 'failed'; readonly error: unknown }

/**
 * On the thread: answers each task of its `createTaskThread` with what `handle` returns, which is plain data. The
 * module names the type of its tasks: messages have none.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function serveTasks<Task>(handle: (task: Task) => unknown): void {
  if (parentPort === null) throw new Error('tasks are served on a thread')
  const port = parentPort
  port.on('message', (task: Task) => port.postMessage(toReply(() => handle(task))))
}

function toReply(work: () => unknown): Reply {
  try {
    return { status: 'done', answer: work() }
  } catch (error) {
    return { status: 'failed', error }
  }
}

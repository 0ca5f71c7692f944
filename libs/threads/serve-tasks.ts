import { parentPort } from 'node:worker_threads'

/** What a thread sends: that it is ready for its first task, then its reply to each. */
export type Reply<Answer = unknown> =
  | { readonly status: 'ready' }
  | { readonly status: 'done'; readonly answer: Answer }
  | { readonly status: 'failed'; readonly error: unknown }

/**
 * Called on the thread: answers each task with the plain data that `handle` returns or resolves with. Messages have no
 * type, so the module names that of its tasks.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function serveTasks<Task>(handle: (task: Task) => unknown): void {
  if (parentPort === null) throw new Error('tasks are served on a worker thread only')
  const port = parentPort
  port.on('message', (task: Task) => {
    void toReply(() => handle(task)).then((reply) => port.postMessage(reply))
  })
  port.postMessage({ status: 'ready' } satisfies Reply)
}

async function toReply(work: () => unknown): Promise<Reply> {
  try {
    return { status: 'done', answer: await work() }
  } catch (error) {
    return { status: 'failed', error }
  }
}

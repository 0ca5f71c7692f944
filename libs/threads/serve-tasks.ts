import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

/**
 * A message from a thread. The first message of a thread is `ready`; the later ones are the replies, one for each task.
 * `usedMs` is the processor time that the thread has used so far.
 */
export type Reply<Answer = unknown> = Outcome<Answer> & { readonly usedMs: number }

type Outcome<Answer = unknown> =
  | { readonly status: 'ready' }
  | { readonly status: 'done'; readonly answer: Answer }
  | { readonly status: 'failed'; readonly error: unknown }

/**
 * Serves the tasks of the worker thread that calls this function. Answers each task with the plain data that `handle`
 * returns or resolves with. Messages have no type, so the caller names the type of its tasks.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function serveTasks<Task>(handle: (task: Task) => unknown): void {
  if (parentPort === null) throw new Error('tasks are served on a worker thread only')
  const port = parentPort
  yieldToEventLoops()
  port.on('message', (task: Task) => {
    void toOutcome(() => handle(task)).then(send)
  })
  const send = (outcome: Outcome) => {
    port.postMessage({ ...outcome, usedMs: toMs(process.threadCpuUsage()) } satisfies Reply)
  }
  send({ status: 'ready' })
}

/**
 * Lowers this thread's priority; on Linux each thread has its own. When all cores are busy, this thread gets a third of
 * the processor time that an event loop gets, so that streams do not wait for it. When a core is free, the thread loses
 * nothing.
 */
function yieldToEventLoops(): void {
  if (process.platform === 'linux') setPriority(0, Math.min(LOWEST, getPriority(0) + STEPS))
}

const STEPS = 5
const LOWEST = 19

/** Converts Node's processor times, which are in microseconds. */
export function toMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000
}

async function toOutcome(work: () => unknown): Promise<Outcome> {
  try {
    return { status: 'done', answer: await work() }
  } catch (error) {
    return { status: 'failed', error }
  }
}

import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

/** What a thread sends: that it is ready for its first task, then its reply to each. `usedMs`: its processor time so far. */
export type Reply<Answer = unknown> = Outcome<Answer> & { readonly usedMs: number }

type Outcome<Answer = unknown> =
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
 * On Linux a priority is a thread's own. Where all cores are busy, this thread gets a third of the time that the event
 * loops get, whose streams would wait for it otherwise; where one is free, it loses nothing.
 */
function yieldToEventLoops(): void {
  if (process.platform === 'linux') setPriority(0, Math.min(LOWEST, getPriority(0) + STEPS))
}

const STEPS = 5
const LOWEST = 19

/** Node's processor times, which are in microseconds. */
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

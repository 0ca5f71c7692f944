import { readdirSync, readFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'

const TICKS_PER_S = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/**
 * Returns the CPU time that the living threads of a process have used so far, in µs. It comes from the scheduler, which
 * counts ns, whereas `/proc/PID/stat` counts whole ticks. Returns 0 for a process that has ended. The time of ended
 * threads is not included.
 */
export function readThreadsCpuUs(pid: number): number {
  try {
    const tasks = `/proc/${pid}/task`
    return readdirSync(tasks).reduce((sum, thread) => sum + readSchedulerNs(`${tasks}/${thread}`), 0) / 1_000
  } catch (error) {
    if (isGone(error)) return 0
    throw error
  }
}

/** Returns for how long, in ms, the main thread of a process has waited for a processor since its start. */
export function readRunQueueMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
}

/** Returns the CPU time of a process and all its child processes. For ended children only whole ticks are counted. */
export function readFamilyCpuUs(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  const living = children === '' ? [] : children.split(' ').map(Number)
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const endedUs = ((Number(fields[13]) + Number(fields[14])) * 1_000_000) / TICKS_PER_S
  return [pid, ...living].reduce((sum, each) => sum + readThreadsCpuUs(each), endedUs)
}

function readSchedulerNs(task: string): number {
  try {
    return Number(readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0])
  } catch (error) {
    if (isGone(error)) return 0
    throw error
  }
}

const isGone = (error: unknown) =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')

/** Returns the resident memory of a process, in KiB. */
export function readResidentKib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const match = /^VmRSS:\s+(\d+) kB$/mu.exec(status)
  if (match === null) throw new Error(`process ${pid} has no resident memory`)
  return Number(match[1])
}

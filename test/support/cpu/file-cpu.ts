import { readTreeCpuMs } from './tree-cpu.ts'

let countedMs = 0

/**
 * Returns the processor time of this test process and its descendants since the last call, or since the start of the
 * process. It is called at the end of each test file, so this is the time that the file has used. Files that share a
 * process run one after another, so no time is counted twice.
 */
export function takeFileCpuMs(): number {
  const untilNowMs = readTreeCpuMs(process.pid)
  const sinceMs = Math.max(0, untilNowMs - countedMs)
  countedMs = untilNowMs
  return sinceMs
}

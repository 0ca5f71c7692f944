import { readTreeCpuMs } from './tree-cpu.ts'

let countedMs = 0

/**
 * The processor time of this test process and its descendants since the last call, or since its start: what the file
 * that ends now has used. Files that share a process take turns, so none is counted twice.
 */
export function takeFileCpuMs(): number {
  const untilNowMs = readTreeCpuMs(process.pid)
  const sinceMs = Math.max(0, untilNowMs - countedMs)
  countedMs = untilNowMs
  return sinceMs
}

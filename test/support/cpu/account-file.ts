// A set-up file of every project: notes the processor time of each test file for the summary.
import { afterAll } from 'vitest'
import { takeFileCpuMs } from './file-cpu.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** Of a file: processor time of its whole process tree, in milliseconds. */
    cpuMs?: number
  }
}

// The first hook that is registered is the last one to run: the servers of the file have stopped.
afterAll(({}, { file }) => {
  file.meta.cpuMs = takeFileCpuMs()
})

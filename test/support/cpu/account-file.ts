// A set-up file of every project. It records the processor time of each test file for the summary.
import { afterAll } from 'vitest'
import { takeFileCpuMs } from './file-cpu.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** The processor time of the file's whole process tree, in ms. */
    cpuMs?: number
  }
}

// The hook that is registered first runs last, when the file's servers have stopped.
afterAll(({}, { file }) => {
  file.meta.cpuMs = takeFileCpuMs()
})

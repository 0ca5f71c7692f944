// Loaded with `--import` into a process of the service. On SIGUSR2 it collects all garbage, so that the process's
// memory does not depend on when V8 last collected.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

process.on('SIGUSR2', () => {
  collect()
  // The second collection waits until the garbage of the first, buffers included, is swept.
  collect()
})

// This file is loaded with `--import` into a process of the service. SIGUSR2 starts a full garbage collection, so that
// a measurement of the process's memory does not depend on when V8 last collected.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

process.on('SIGUSR2', () => {
  collect()
  // The second collection begins after the first has freed its garbage, including buffers.
  collect()
})

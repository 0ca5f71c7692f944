// Loaded with `--import` into a process of the service: on SIGUSR2 it collects all its garbage, so that its memory is what
// it holds and does not depend on when V8 last collected.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

process.on('SIGUSR2', () => {
  collect()
  // The second one waits until what the first one found is swept, buffers included.
  collect()
})

// Measures how long a stream pauses when a part that serves it fails: client ← gateway ← bus ← worker ← simulator, on
// this machine.
//
//   npm run bench:recovery [-- --only kill,terminate,cut,many] [--streams 20] [--rate 40]
//
// - kill: SIGKILL of the worker of all streams, while another worker has room.
// - terminate: SIGTERM of that worker, which gives its generations back, so that the other worker continues them.
// - cut: the bus connection of the worker, then of the gateway, is reset; no token may be generated twice.
// - many: SIGKILL of a worker with 256 streams of 4,000 tokens each, while other streams flow. Compares the other
//   streams' gaps before and after the kill, and measures how long the 256 streams pause.
//
// Prints the longest gap of each stream as p50, p99 and maximum. A lost or duplicated token fails the run.
import { parseArgs } from 'node:util'
import { makeRunFolder, removeRunFolder, RUN_FOLDER_VARIABLE } from '../test/support/run-folder.ts'
import { agent } from './harness/stream-chat.ts'
import { measureCut } from './recovery/cut.ts'
import { measureEnd } from './recovery/end-worker.ts'
import { measureMany } from './recovery/many.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'kill,terminate,cut,many' },
    streams: { type: 'string', default: '20' },
    /** The rate in tokens per second of each stream. */
    rate: { type: 'string', default: '40' },
    'many-streams': { type: 'string', default: '256' },
    'many-tokens': { type: 'string', default: '4000' },
    /** If true, the logs are kept and their folder is printed. */
    keep: { type: 'boolean', default: false },
  },
})
const chosen = values.only.split(',')
const load = { streams: Number(values.streams), rate: Number(values.rate) }

const folder = makeRunFolder()
process.env[RUN_FOLDER_VARIABLE] = folder
try {
  if (chosen.includes('kill')) await measureEnd('kill', load)
  if (chosen.includes('terminate')) await measureEnd('terminate', load)
  if (chosen.includes('cut')) await measureCut(load)
  if (chosen.includes('many'))
    await measureMany({ streams: Number(values['many-streams']), tokens: Number(values['many-tokens']) })
} finally {
  agent.destroy()
  if (values.keep) console.log(`the logs are in ${folder}`)
  else removeRunFolder(folder)
}

// How cost grows with the cell: heartbeats and pulses with processes, the record's scripts with what waits.
//
//   npm run bench:growth
//
// Figures are Redis' own, or CPU time in units of a PING of the same run, so other work on the machine matters little.
import { setup, teardown } from '../test/support/global-setup.ts'
import { benchBus } from './growth/bus.ts'
import { benchRecord } from './growth/record.ts'

await setup()
try {
  await benchBus(console.log)
  await benchRecord(console.log)
} finally {
  await teardown()
}

// Measures how costs grow with the size of a cell, in four parts:
//
// - bus: the cost of heartbeats and pulses, by the number of processes
// - models: the cost of idle models, by the number of models
// - record: the cost of the record's scripts, by the number of waiting generations
// - ledger: the cost of billing's functions and reads, by the size of the ledger
//
//   npm run bench:growth [-- --parts bus,models,record,ledger --rows 1000000]
//
// `--rows 1000000,10000000` takes a quarter of an hour and 12 GB. Figures are times by the servers' own clocks, or CPU
// time. CPU time is also printed as a multiple of the CPU time that a PING or a one-row commit takes in the same run.
// Other work on the machine changes such a multiple little. Durations are printed as well.
import { parseArgs } from 'node:util'
import { setup, teardown } from '../test/support/global-setup.ts'
import { benchBus } from './growth/bus.ts'
import { benchLedger } from './growth/ledger.ts'
import { benchModels } from './growth/models.ts'
import { benchRecord } from './growth/record.ts'

const { values } = parseArgs({
  options: {
    parts: { type: 'string', default: 'bus,models,record,ledger' },
    rows: { type: 'string', default: '1000000' },
  },
})
const parts = values.parts.split(',')

await setup()
try {
  if (parts.includes('bus')) await benchBus(console.log)
  if (parts.includes('models')) await benchModels(console.log)
  if (parts.includes('record')) await benchRecord(console.log)
  if (parts.includes('ledger')) await benchLedger(console.log, values.rows.split(',').map(Number))
} finally {
  await teardown()
}

// Compares the scaler's decisions with the rules of two similar systems (vLLM production-stack and llm-d), on five
// traces of load.
//
//   npm run bench:scaling [-- --seeds 8]
//
// Prints, for each trace and rule, these means over the seeds:
// - requests whose clients gave up
// - GPU-hours
// - started pods
// - removed pods, and how many of them were busy
// - the most pods at once
// - the 95th percentile of the wait
import { parseArgs } from 'node:util'
import { compare } from './scaling/compare.ts'

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '8' } } })
const columns = ['gave up %', 'GPU-h', 'starts', 'removed', 'busy', 'peak', 'p95 wait s']

console.log(`${''.padEnd(32)}${columns.map((column) => column.padStart(11)).join('')}`)
for (const { trace, rule, mean, worstPeak } of compare(Number(values.seeds))) {
  const cells = [
    mean.gaveUp.toFixed(1),
    mean.gpuHours.toFixed(1),
    mean.starts.toFixed(0),
    mean.removed.toFixed(0),
    mean.removedBusy.toFixed(0),
    worstPeak.toFixed(0),
    mean.waitP95S.toFixed(0),
  ]
  console.log(`${`${trace}: ${rule}`.padEnd(32)}${cells.map((cell) => cell.padStart(11)).join('')}`)
}

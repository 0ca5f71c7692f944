// `npm run test:model [-- PART OF A NAME]` runs this program. It explores every case with more faults than `npm test`
// does, and prints the shortest trace of each weaker rule.
import { ANY_FAULTS, SOUND_CASES, WEAKENED_CASES } from './cases.ts'
import { explore } from './explore.ts'
import { createProtocol, type Case } from './protocol.ts'
import type { Budget } from './state.ts'

const MOST_STATES = 20_000_000
const [part = ''] = process.argv.slice(2)
const chosen = ({ name }: Case) => name.includes(part)
const surprises: string[] = []

for (const sound of SOUND_CASES.filter(chosen)) {
  const { total = 0 } = sound.faults
  const more = total === ANY_FAULTS.total ? { ...sound.faults, total: total + 1 } : sound.faults
  if (explain({ ...sound, faults: more }) !== 'holds') surprises.push(sound.name)
}
for (const weakened of WEAKENED_CASES.filter(chosen)) {
  // If a case allows no hold to be left, only the case's own faults may happen.
  const faults = weakened.sweeper === false ? weakened.faults : both(ANY_FAULTS, weakened.faults)
  if (explain({ ...weakened, faults }) !== 'violated') surprises.push(weakened.name)
}
for (const name of surprises) console.log(`not as expected: ${name}`)
process.exitCode = surprises.length === 0 ? 0 : 1

function explain(one: Case): string {
  const started = performance.now()
  const found = explore(createProtocol(one), MOST_STATES)
  const seconds = ((performance.now() - started) / 1_000).toFixed(1)
  const verdict = found.status === 'violated' ? found.violation : found.status
  console.log(`${one.name}: ${verdict} (${found.states} states, ${seconds} s)`)
  if (found.status === 'violated') for (const label of found.trace) console.log(`    ${label}`)
  return found.status
}

function both(most: Budget, faults: Partial<Budget>): Partial<Budget> {
  const { total = 0, ...named } = faults
  return { ...most, ...named, total: Math.max(most.total, total) }
}

import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

// For each mutant, the history that reveals it, so that `npm test` runs one history per mutant instead of a hundred.

/** The number of the seed's first history that reveals a mutant, by the name of the mutant. */
const Killers = z.record(z.string(), z.string())

const FILE = new URL('killers.json', import.meta.url)

/** The advice after a change of the histories or of the mutants. */
export const RECORD_ANEW = 'record the killers anew: npm run test:long -- mutants --record'

/** `npm run test:long -- mutants --record` sets it to 1. */
export const IS_RECORDING = process.env['MILLRACE_RECORD_KILLERS'] === '1'

export function readKillers(): Readonly<Record<string, string>> {
  return Killers.parse(JSON.parse(readFileSync(FILE, 'utf8')))
}

/** Replaces all killers. */
export function recordKillers(killers: Readonly<Record<string, string | undefined>>): void {
  writeFileSync(FILE, `${JSON.stringify(killers, null, 2)}\n`)
}

import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { MoneyPath } from '../support/money-paths.ts'

// For each mutant, the history that reveals it, so that `npm test` runs one history per mutant instead of a hundred.

/** The number of the seed's first history that reveals a mutant, by path of single calls and name of the mutant. */
const Killers = z.strictObject({
  full: z.record(z.string(), z.string()),
  single: z.record(z.string(), z.string()),
  batch: z.record(z.string(), z.string()),
} satisfies Record<MoneyPath, unknown>)

const FILE = new URL('killers.json', import.meta.url)

/** The advice after a change of the histories or of the mutants. */
export const RECORD_ANEW = 'record the killers anew: npm run test:long -- mutants --record'

/** `npm run test:long -- mutants --record` sets it to 1. */
export const IS_RECORDING = process.env['MILLRACE_RECORD_KILLERS'] === '1'

export function readKillers(path: MoneyPath): Readonly<Record<string, string>> {
  return readAll()[path]
}

/** Replaces the killers of one path. The names have the order of the mutants. */
export function recordKillers(path: MoneyPath, killers: ReadonlyMap<string, string>): void {
  const all = { ...readAll(), [path]: Object.fromEntries(killers) }
  writeFileSync(FILE, `${JSON.stringify(all, null, 2)}\n`)
}

function readAll(): z.infer<typeof Killers> {
  return Killers.parse(JSON.parse(readFileSync(FILE, 'utf8')))
}

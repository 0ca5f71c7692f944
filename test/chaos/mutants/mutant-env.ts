import { fileURLToPath } from 'node:url'
import { MUTANT_VARIABLE } from './mutants.ts'

const HOOK = fileURLToPath(new URL('apply-mutant.ts', import.meta.url))

/** The environment in which an app runs with this mistake. */
export function mutantEnv(name: string): Record<string, string> {
  return { [MUTANT_VARIABLE]: name, NODE_OPTIONS: `--import=${HOOK}` }
}

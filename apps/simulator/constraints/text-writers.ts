import { ConstraintError } from './constraint-error.ts'
import { SAMPLE_HINTS, type ValueHints } from './json-value.ts'
import { textMatching } from './regex-text.ts'

/** Returns what writes a text that matches `pattern`. Throws a ConstraintError where the simulator can write none. */
export function toRegexWriter(pattern: string): (hints: ValueHints) => string {
  const write = ({ variant }: ValueHints) => textMatching(pattern, variant)
  write(SAMPLE_HINTS)
  return write
}

/** The simulator cannot write a text that a grammar in EBNF allows. */
export function refuseGrammar(): never {
  throw new ConstraintError('Invalid grammar specification: EBNF grammars are not supported by this engine')
}

import { ConstraintError } from './constraint-error.ts'
import { SAMPLE_HINTS, type ValueHints } from './json-value.ts'
import { textMatching } from './regex-text.ts'

/**
 * Returns a function that writes a text that `pattern` matches. Throws a ConstraintError if the simulator can write no
 * such text.
 */
export function toRegexWriter(pattern: string): (hints: ValueHints) => string {
  const write = ({ variant }: ValueHints) => textMatching(pattern, variant)
  write(SAMPLE_HINTS)
  return write
}

/** The simulator cannot write a text that a grammar in EBNF allows. */
export function refuseGrammar(): never {
  throw new ConstraintError('Invalid grammar specification: EBNF grammars are not supported by this engine')
}

import { ApiError } from '#libs/contracts/api-error.ts'
import type { OutputFormat } from '#libs/contracts/generation-request.ts'
import { MAX_GRAMMAR_CHARACTERS, type GrammarUse } from '#libs/json-schema/limits.ts'
import { findPatternProblem, findRepetitionProblem } from './schema/check-patterns.ts'
import { readGrammar } from './schema/read-grammar.ts'

/** A format for output that is not JSON. */
export type TextFormat = Extract<OutputFormat, { type: 'regex' | 'choice' | 'grammar' }>

/**
 * The most characters of a grammar. The limit is lower than the limit of schemas, because a rule takes longer to
 * compile than a property of a schema. A grammar of SQL has about 5,000 characters.
 */
const MAX_RULES_CHARACTERS = 20_000

/**
 * Checks a format (a regular expression, a choice or a grammar) to which the engine will constrain an output, before
 * credits are reserved. The format counts towards the limits for all grammars of the request, as the request's schemas
 * do. Throws an `ApiError` `invalid_request` that names the limit or the expected form.
 */
export function checkTextGrammar(format: TextFormat, param: string, use: GrammarUse): void {
  const texts = textsOf(format)
  use.characters += texts.reduce((sum, text) => sum + text.length, 0)
  const problem =
    use.characters > MAX_GRAMMAR_CHARACTERS
      ? `expected at most ${MAX_GRAMMAR_CHARACTERS} characters in all grammars of the request`
      : findProblem(format, use)
  if (problem !== null) throw new ApiError('invalid_request', `'${param}': ${problem}.`, { param })
}

function textsOf(format: TextFormat): readonly string[] {
  switch (format.type) {
    case 'regex':
      return [format.pattern]
    case 'choice':
      return format.choices
    case 'grammar':
      return [format.grammar]
  }
}

function findProblem(format: TextFormat, use: GrammarUse): string | null {
  switch (format.type) {
    case 'regex':
      return findPatternProblem(format.pattern, use, { isInJson: false })
    case 'choice':
      return null
    case 'grammar': {
      if (format.grammar.length > MAX_RULES_CHARACTERS)
        return `expected at most ${MAX_RULES_CHARACTERS} characters`
      const { problem, repeated } = readGrammar(format.grammar)
      return problem ?? findRepetitionProblem(repeated, use)
    }
  }
}

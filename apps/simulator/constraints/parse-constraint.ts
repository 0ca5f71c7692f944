import { parseExact } from '#libs/json-schema/exact-json.ts'
import type { Constraint } from './constraint.ts'
import { ConstraintError } from './constraint-error.ts'
import { toJsonWriter } from './json-value.ts'
import { fromStructuralTag } from './structural-tag.ts'
import { refuseGrammar, toRegexWriter } from './text-writers.ts'

/** The constraint fields of SamplingParams, of which at most one is present. */
export type ConstraintFields = {
  readonly constraint?: 'jsonSchema' | 'regex' | 'grammar' | 'structuralTag' | 'jsonObject' | 'choice'
  readonly jsonSchema?: string
  readonly regex?: string
  readonly structuralTag?: string
  readonly jsonObject?: boolean
  readonly choice?: { readonly choices: readonly string[] } | null
}

/**
 * Parses a request's constraint; returns null if the request has none. Throws a ConstraintError, with vLLM's message if
 * that message is known. EBNF grammars and most formats of structural tags are refused, because the simulator cannot
 * write a text that they allow.
 */
export function parseConstraint(fields: ConstraintFields): Constraint | null {
  if (fields.constraint === undefined) return null
  switch (fields.constraint) {
    case 'jsonSchema':
      return fromJsonSchema(fields.jsonSchema ?? '')
    case 'regex':
      return { kind: 'text', write: toRegexWriter(fields.regex ?? '') }
    case 'grammar':
      return refuseGrammar()
    case 'structuralTag':
      return fromStructuralTag(parseJson(fields.structuralTag ?? '', 'Invalid structural tag specification.'))
    case 'jsonObject':
      if (fields.jsonObject === true) return { kind: 'text', write: ({ text }) => JSON.stringify({ text }) }
      throw new ConstraintError(
        'structured_outputs.json_object must be True if set; omit structured_outputs to disable structured outputs',
      )
    case 'choice':
      return fromChoices(fields.choice?.choices ?? [])
  }
}

function fromJsonSchema(text: string): Constraint {
  if (text === '') throw new ConstraintError('structured_outputs.json cannot be an empty string')
  return { kind: 'text', write: toJsonWriter(parseJson(text, 'Invalid JSON grammar specification.')) }
}

function fromChoices(choices: readonly string[]): Constraint {
  if (choices.length === 0) throw new ConstraintError("Choice '[]' cannot be an empty list")
  return { kind: 'text', write: ({ variant }) => choices[variant % choices.length] ?? '' }
}

function parseJson(text: string, problem: string): unknown {
  try {
    return parseExact(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw new ConstraintError(problem)
    throw error
  }
}

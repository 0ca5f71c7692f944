import { z } from 'zod'
import { ConstraintError } from './constraint-error.ts'
import { isRecord } from './json-text.ts'
import { valueFor, type ValueHints } from './json-value.ts'
import { textMatching } from './regex-text.ts'

/** A tool call as a structural tag describes it: `begin`, JSON that fits `schema`, `end`. */
export type Tag = { readonly begin: string; readonly schema: unknown; readonly end: string }

export type Constraint =
  /** The whole answer is one text of the language. */
  | { readonly kind: 'text'; readonly write: (hints: ValueHints) => string }
  /** Free text with tagged parts; `forced`: begins with a tag. */
  | { readonly kind: 'tags'; readonly tags: readonly Tag[]; readonly forced: boolean }

/** The constraint fields of SamplingParams: one of them is present, or none. */
export type ConstraintFields = {
  readonly constraint?: 'jsonSchema' | 'regex' | 'grammar' | 'structuralTag' | 'jsonObject' | 'choice'
  readonly jsonSchema?: string
  readonly regex?: string
  readonly structuralTag?: string
  readonly jsonObject?: boolean
  readonly choice?: { readonly choices: readonly string[] } | null
}

/**
 * Reads and checks a request's constraint; null when it has none. Throws a ConstraintError with vLLM's wording
 * where that is known. EBNF grammars and structural tags other than `triggered_tags` around JSON schemas are
 * refused: this engine cannot write a text of them.
 */
export function parseConstraint(fields: ConstraintFields): Constraint | null {
  if (fields.constraint === undefined) return null
  switch (fields.constraint) {
    case 'jsonSchema':
      return fromJsonSchema(fields.jsonSchema ?? '')
    case 'regex':
      return fromRegex(fields.regex ?? '')
    case 'grammar':
      throw new ConstraintError(
        'Invalid grammar specification: EBNF grammars are not supported by this engine',
      )
    case 'structuralTag':
      return fromStructuralTag(fields.structuralTag ?? '')
    case 'jsonObject':
      if (fields.jsonObject === true) return { kind: 'text', write: ({ text }) => JSON.stringify({ text }) }
      throw new ConstraintError(
        'structured_outputs.json_object must be True if set; omit structured_outputs to disable structured outputs',
      )
    case 'choice':
      return fromChoices(fields.choice?.choices ?? [])
  }
}

/** Stands in for a request's real hints while a constraint is only checked. */
const CHECK: ValueHints = { userText: '', text: 'text', variant: 0 }

function fromJsonSchema(text: string): Constraint {
  if (text === '') throw new ConstraintError('structured_outputs.json cannot be an empty string')
  const schema = parseJson(text, 'Invalid JSON grammar specification.')
  const write = (hints: ValueHints) => JSON.stringify(valueFor(schema, hints))
  write(CHECK)
  return { kind: 'text', write }
}

function fromRegex(pattern: string): Constraint {
  const write = ({ variant }: ValueHints) => textMatching(pattern, variant)
  write(CHECK)
  return { kind: 'text', write }
}

function fromChoices(choices: readonly string[]): Constraint {
  if (choices.length === 0) throw new ConstraintError("Choice '[]' cannot be an empty list")
  return { kind: 'text', write: ({ variant }) => choices[variant % choices.length] ?? '' }
}

const StructuralTag = z.object({
  format: z.object({
    type: z.literal('triggered_tags'),
    triggers: z.array(z.string()).min(1),
    at_least_one: z.boolean().default(false),
    tags: z
      .array(
        z.object({
          begin: z.string(),
          content: z.object({ type: z.literal('json_schema'), json_schema: z.unknown() }),
          end: z.string(),
        }),
      )
      .min(1),
  }),
})

function fromStructuralTag(text: string): Constraint {
  const given = parseJson(text, 'Invalid structural tag specification.')
  if (!isRecord(given) || !isRecord(given['format']) || !('triggers' in given['format'])) {
    throw new ConstraintError("Invalid grammar specification: 'triggers'")
  }
  const parsed = StructuralTag.safeParse(given)
  if (!parsed.success) {
    const problems = parsed.error.issues
      .map((issue) => `${issue.path.join('.')}: ${issue.message}`)
      .join('; ')
    throw new ConstraintError(`Invalid grammar specification: ${problems}`)
  }
  const { tags, at_least_one: forced } = parsed.data.format
  for (const tag of tags) valueFor(tag.content.json_schema, CHECK)
  return {
    kind: 'tags',
    forced,
    tags: tags.map(({ begin, content, end }) => ({ begin, schema: content.json_schema, end })),
  }
}

function parseJson(text: string, problem: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw new ConstraintError(problem)
    throw error
  }
}

import { z } from 'zod'
import type { OutputFormat } from '#libs/contracts/generation-request.ts'
import { isJsonObject } from '#libs/json-schema/json-schema.ts'
import { optional } from '../../http/parse-body.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { BOOLEAN, TEXT } from './field-texts.ts'
import { JsonSchema } from './json-schema.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { parsePart } from '#libs/http-contract/parse-part.ts'
import { noteExactText } from './exact-texts.ts'

const SCHEMA = 'expected a JSON schema, as an object or as text'
const MAX_CHOICES = 1_000
const CHOICES = `expected an array of 1 to ${MAX_CHOICES} texts that are not empty`

const Schema = z
  .unknown()
  .transform((given, context) => {
    const schema = typeof given === 'string' ? readText(given) : given
    if (isJsonObject(schema)) return parsePart(JsonSchema, schema, { path: [], context }) ?? z.NEVER
    context.addIssue({ code: 'custom', message: SCHEMA })
    return z.NEVER
  })
  .meta(documentedAs(z.union([z.string(), JsonSchema])))

function readText(given: string): unknown {
  try {
    const value: unknown = JSON.parse(given)
    if (isJsonObject(value)) noteExactText(value, given)
    return value
  } catch {
    return null
  }
}

/** A regular expression or a grammar. `checkTextGrammar` bounds its length. */
export const ConstraintText = z.string(TEXT).min(1, 'expected text that is not empty')

export const Choices = listOf(z.string(CHOICES).min(1, CHOICES), {
  expected: CHOICES,
  least: [1, CHOICES],
  most: [MAX_CHOICES, CHOICES],
})

const refused = (expected: string) => optional(z.never(expected)).meta({ not: {} })
const onlyFalse = optional(z.literal(false, 'expected false'))

/** The fields by which vLLM constrains an output. The fields `guided_…` are of versions before 0.12. */
export const STRUCTURED_FIELDS = {
  structured_outputs: optional(
    z.strictObject(
      {
        json: optional(Schema),
        regex: optional(ConstraintText),
        choice: optional(Choices),
        grammar: optional(ConstraintText),
        json_object: optional(z.boolean(BOOLEAN)),
        structural_tag: refused(
          'expected json, regex, choice, grammar or json_object: structural tags are not supported',
        ),
        whitespace_pattern: refused('expected none: the engine chooses the whitespace'),
        disable_any_whitespace: onlyFalse,
        disable_additional_properties: onlyFalse,
        // The field says what the engine does if a grammar fails to compile. Such a grammar is refused here.
        disable_fallback: optional(z.boolean(BOOLEAN)),
      },
      'expected an object with one of json, regex, choice, grammar and json_object',
    ),
  ).meta({
    description: 'What the output text is constrained to; grammar is EBNF with a rule root. Of vLLM.',
  }),
  guided_json: optional(Schema),
  guided_regex: optional(ConstraintText),
  guided_choice: optional(Choices),
  guided_grammar: optional(ConstraintText),
}

const Fields = z.object(STRUCTURED_FIELDS)

/** Returns the formats for which the fields ask, by the names of the fields. */
export function toStructuredFormats(
  fields: z.output<typeof Fields>,
): Readonly<Record<string, OutputFormat | undefined>> {
  const { structured_outputs: structured } = fields
  return {
    'structured_outputs.json': toJsonFormat(structured?.json),
    'structured_outputs.json_object': structured?.json_object === true ? { type: 'json-object' } : undefined,
    'structured_outputs.regex': toRegex(structured?.regex),
    'structured_outputs.choice': toChoice(structured?.choice),
    'structured_outputs.grammar': toGrammar(structured?.grammar),
    guided_json: toJsonFormat(fields.guided_json),
    guided_regex: toRegex(fields.guided_regex),
    guided_choice: toChoice(fields.guided_choice),
    guided_grammar: toGrammar(fields.guided_grammar),
  }
}

type Given<Value> = Value | undefined

const toJsonFormat = (schema: Given<z.output<typeof Schema>>): Given<OutputFormat> =>
  schema === undefined
    ? undefined
    : {
        type: 'json-schema',
        schema: schema.value,
        ...(schema.text !== undefined && { schemaText: schema.text }),
      }
const toRegex = (pattern: Given<string>): Given<OutputFormat> =>
  pattern === undefined ? undefined : { type: 'regex', pattern }
const toChoice = (choices: Given<string[]>): Given<OutputFormat> =>
  choices === undefined ? undefined : { type: 'choice', choices }
const toGrammar = (grammar: Given<string>): Given<OutputFormat> =>
  grammar === undefined ? undefined : { type: 'grammar', grammar }

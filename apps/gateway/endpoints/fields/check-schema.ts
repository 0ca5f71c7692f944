import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { ApiError } from '#libs/contracts/api-error.ts'
import { shorten } from '../../http/shorten.ts'
import { findLoop } from './schema/find-loop.ts'
import { checkBounds } from './schema/check-bounds.ts'
import { checkDepth } from './schema/check-depth.ts'
import { checkReferences } from './schema/check-references.ts'
import { collectSubschemas, type SchemaObject, type SchemaProblem } from './schema/collect-subschemas.ts'
import { checkPatterns } from './schema/check-patterns.ts'
import { checkSize } from './schema/check-size.ts'

/**
 * Checks a schema that the engine is to hold an output to, before anything is reserved for it. Throws an
 * `ApiError` `invalid_request` that names the place in the schema and what is allowed there. Nothing of the
 * schema is ever run: its patterns are parsed, never matched.
 */
export function checkSchema(schema: SchemaObject, param: string): void {
  const problem = findProblem(schema)
  if (problem === null) return
  throw new ApiError(
    'invalid_request',
    `'${param}': wrong schema at ${shorten(problem.pointer)}: ${problem.text}.`,
    {
      param,
    },
  )
}

function findProblem(schema: SchemaObject): SchemaProblem | null {
  const general = checkSize(schema) ?? checkKeywords(schema)
  if (general !== null) return general
  const subschemas = collectSubschemas(schema)
  const { problem, references } = checkReferences(schema, subschemas)
  return (
    problem ??
    checkBounds(subschemas) ??
    checkPatterns(subschemas) ??
    findLoop(subschemas, references) ??
    checkDepth(subschemas, references)
  )
}

const current = metaSchema(
  new Ajv2020({ validateFormats: false }),
  'https://json-schema.org/draft/2020-12/schema',
)
const draft7 = metaSchema(new Ajv({ validateFormats: false }), 'http://json-schema.org/draft-07/schema')

/** Compiled once, at the start: it takes longer than checking hundreds of schemas. */
function metaSchema(ajv: Ajv | Ajv2020, id: string): ValidateFunction {
  const validate = ajv.getSchema(id)
  if (validate === undefined) throw new Error(`ajv does not know ${id}`)
  return validate
}

/**
 * By the draft that `$schema` names. Schemas that name none are of 2020-12, unless they fit draft 7 alone:
 * generators that leave `$schema` out still write tuples as lists of `items`.
 */
function checkKeywords(schema: SchemaObject): SchemaProblem | null {
  const named = typeof schema['$schema'] === 'string' ? schema['$schema'] : ''
  const isOlder = /\/draft-0[4-7]\//.test(named)
  if ((isOlder ? draft7 : current)(schema)) return null
  const problem = toProblem((isOlder ? draft7 : current).errors ?? [])
  return named === '' && draft7(schema) ? null : problem
}

function toProblem(errors: readonly ErrorObject[]): SchemaProblem {
  const [first] = errors
  if (first === undefined) return { pointer: '#', text: 'expected a JSON schema' }
  const allowed: unknown = first.params['allowedValues']
  return {
    pointer: `#${first.instancePath}`,
    text: Array.isArray(allowed) ? `expected one of ${allowed.join(', ')}` : (first.message ?? 'wrong'),
  }
}

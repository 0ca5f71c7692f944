import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { ApiError } from '#libs/contracts/api-error.ts'
import { findLoop } from '#libs/json-schema/find-loop.ts'
import { findUnsatisfiable } from '#libs/json-schema/find-unsatisfiable.ts'
import type { JsonSchema, SchemaProblem } from '#libs/json-schema/json-schema.ts'
import { checkReferredLevels, checkSize, noGrammars, type GrammarUse } from '#libs/json-schema/limits.ts'
import { checkReferences } from '#libs/json-schema/references.ts'
import { collectSubschemas } from '#libs/json-schema/subschemas.ts'
import { shorten } from '../../http/shorten.ts'
import { checkBounds } from './schema/check-bounds.ts'
import { checkPatterns } from './schema/check-patterns.ts'

/**
 * Checks a schema to which the engine will constrain an output, before credits are reserved. Throws an `ApiError`
 * `invalid_request` that names the wrong place in the schema and what is allowed there. Patterns are parsed but never
 * matched, so the check of a hostile pattern is cheap. `text` is the schema's JSON as the caller wrote it. Numbers in
 * `text` may have more digits than the same numbers in `schema`.
 */
export type CheckSchema = (schema: JsonSchema, param: string, text?: string) => void

/**
 * Creates the check for one request. The engine compiles all grammars of a request, so the limits apply to these
 * grammars together. `use` counts how much of the limits they use.
 */
export function createCheckSchema(use: GrammarUse = noGrammars()): CheckSchema {
  return (schema, param, text) => {
    const problem = findProblem(schema, use, text)
    if (problem === null) return
    const message = `'${param}': wrong schema at ${shorten(problem.pointer)}: ${problem.text}.`
    throw new ApiError('invalid_request', message, { param })
  }
}

function findProblem(schema: JsonSchema, use: GrammarUse, text?: string): SchemaProblem | null {
  const general = checkSize(schema, use, text) ?? checkKeywords(schema)
  if (general !== null) return general
  const subschemas = collectSubschemas(schema)
  const { problem, references } = checkReferences(schema, subschemas)
  return (
    problem ??
    checkBounds(subschemas, use) ??
    checkPatterns(subschemas, use) ??
    findLoop(subschemas, references) ??
    findUnsatisfiable(subschemas, references) ??
    checkReferredLevels(subschemas, references, use)
  )
}

const draft2020 = metaSchema(
  () => new Ajv2020({ validateFormats: false }),
  'https://json-schema.org/draft/2020-12/schema',
)
const draft7 = metaSchema(() => new Ajv({ validateFormats: false }), 'http://json-schema.org/draft-07/schema')

/**
 * Compiles the validators for schemas. That takes 0.1 s of processor time once, longer than the check of hundreds of
 * schemas. Each thread that prepares bodies calls this function at its start; the gateway's own process checks no
 * schema.
 */
export function compileSchemaChecks(): void {
  draft2020()
  draft7()
}

function metaSchema(createAjv: () => Ajv | Ajv2020, id: string): () => ValidateFunction {
  let compiled: ValidateFunction | undefined
  return () => {
    compiled ??= createAjv().getSchema(id)
    if (compiled === undefined) throw new Error(`ajv does not know ${id}`)
    return compiled
  }
}

/**
 * Checks a schema by the draft that `$schema` names. A schema without `$schema` is accepted if it is valid by 2020-12
 * or by draft 7. Some generators omit `$schema`, and write a tuple as draft 7 does: as a list in `items`.
 */
function checkKeywords(schema: JsonSchema): SchemaProblem | null {
  const named = typeof schema['$schema'] === 'string' ? schema['$schema'] : ''
  const isOlder = /\/draft-0[4-7]\//.test(named)
  const isValid = isOlder ? draft7() : draft2020()
  if (isValid(schema)) return null
  const problem = toProblem(isValid.errors ?? [])
  return named === '' && draft7()(schema) ? null : problem
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

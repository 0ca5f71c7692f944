import schema from '@seriousme/openapi-schema-validator/schemas/v3.1/schema.json' with { type: 'json' }
import { Ajv2020 } from 'ajv/dist/2020.js'

/** The official schema of OpenAPI 3.1. It leaves the dialect of schemas open; here it is JSON Schema 2020-12. */
const META = {
  ...schema,
  $defs: { ...schema.$defs, schema: { $ref: schema.$schema } },
}

/** Returns why a document is not valid OpenAPI 3.1; null if it is valid. */
export function findOpenApiProblems(document: unknown) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  return ajv.validate(META, document) ? null : ajv.errors
}

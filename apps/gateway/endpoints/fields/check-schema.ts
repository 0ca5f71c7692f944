import { Ajv2020 } from 'ajv/dist/2020.js'
import { ApiError } from '#libs/contracts/api-error.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false })

/** Throws an `ApiError` `invalid_request` that names the place in the schema where it is none. */
export function checkSchema(schema: Readonly<Record<string, unknown>>, param: string): void {
  if (ajv.validateSchema(schema) === true) return
  const [problem] = ajv.errors ?? []
  throw new ApiError(
    'invalid_request',
    `'${param}': expected a JSON schema${problem === undefined ? '' : `, but ${problem.instancePath} ${problem.message ?? 'is wrong'}`}.`,
    { param },
  )
}

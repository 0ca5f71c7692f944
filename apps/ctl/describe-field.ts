import { z } from 'zod'
import { documentedAs } from '#libs/http-contract/documented-as.ts'

const Plain = z.looseObject({
  /** A list of types if the value may be null. */
  type: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform((types = []) => [types].flat()),
  format: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
})

const Documented = Plain.extend({ anyOf: z.array(Plain).optional() })

/** A field of the contract, as its OpenAPI description has it. */
export type DescribedField = {
  /** The type in JSON, apart from null; undefined for any type. */
  readonly type: string | undefined
  readonly format: string | undefined
  readonly description: string | undefined
  readonly options: readonly string[] | undefined
  readonly isNullable: boolean
  readonly isRequired: boolean
}

export function describeField(field: z.ZodType): DescribedField {
  const { anyOf = [], ...outer } = Documented.parse(documentedAs(field))
  const inner = anyOf.find(({ type }) => !type.includes('null')) ?? outer
  return {
    type: inner.type.find((type) => type !== 'null'),
    format: inner.format,
    description: outer.description ?? inner.description,
    options: inner.enum,
    isNullable: [outer, ...anyOf].some(({ type }) => type.includes('null')),
    isRequired: !field.safeParse(undefined).success,
  }
}

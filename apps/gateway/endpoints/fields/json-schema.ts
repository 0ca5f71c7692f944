import { z } from 'zod'
import { isJsonObject, type JsonObject } from '#libs/json-schema/json-schema.ts'
import { BY_NAME, collectSubschemas } from '#libs/json-schema/subschemas.ts'
import { isWithinLevels, MAX_LEVELS } from '#libs/json-schema/limits.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { exactText, isEmptyList } from './exact-texts.ts'

/**
 * A schema. `text` is the schema's JSON as the caller wrote it. It is undefined if JavaScript writes the schema in the
 * same way.
 */
type WrittenSchema = { readonly value: JsonObject; readonly text: string | undefined }

/**
 * An object with a bounded depth of nesting, so that writing the object as JSON does not exhaust the stack. The
 * keywords of the JSON schema are not checked here. PHP writes an empty object as an empty list, so such a list is read
 * as an object where a schema has an object of schemas.
 */
export const JsonSchema = z
  .unknown()
  .transform((given, context): WrittenSchema => {
    const value = isEmptyList(given) ? {} : given
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    }
    if (!isJsonObject(value)) return refuse('expected a JSON schema')
    if (!isWithinLevels(value, MAX_LEVELS)) {
      return refuse(`expected a JSON schema of at most ${MAX_LEVELS} levels`)
    }
    for (const { schema } of collectSubschemas(value)) {
      for (const keyword of BY_NAME) if (isEmptyList(schema[keyword])) Reflect.set(schema, keyword, {})
    }
    return { value, text: exactText(value)?.replaceAll(EMPTY_LISTS, '$1{}') }
  })
  .meta(documentedAs(z.record(z.string(), z.unknown())))

const EMPTY_LISTS = new RegExp(
  String.raw`("(?:${[...BY_NAME].map(RegExp.escape).join('|')})"\s*:\s*)\[\s*\]`,
  'g',
)

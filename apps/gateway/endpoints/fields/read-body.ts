import type { z } from 'zod'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'
import { findModelOfBody, type Catalog, type CatalogModel } from '../../catalog.ts'
import { parseBody, requireFields } from '../../http/parse-body.ts'
import { checkFields, type FieldTable } from './field-rules.ts'
import { refuseLongList } from './refuse-long-list.ts'

/**
 * Reads the body of a request for a generation, in the order that the interface defines: the required fields, the model,
 * the fields that are refused, the length of the prompt's list, and the values. `prompt` is the field of the prompt.
 * Throws an `ApiError`.
 */
export function readBody<Body extends z.ZodObject>(
  json: JsonObject,
  catalog: Pick<Catalog, 'find'>,
  { table, prompt, required = [] }: { table: FieldTable<Body>; prompt: string; required?: readonly string[] },
): { readonly model: CatalogModel; readonly body: z.output<Body> } {
  requireFields(json, ['model', prompt, ...required])
  const model = findModelOfBody(catalog, json, 'chat')
  const fields = checkFields(json, table)
  refuseLongList(json, prompt, model)
  return { model, body: parseBody(table.body, fields) }
}

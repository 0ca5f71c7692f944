import type { z } from 'zod'
import type { Operation } from './operation.ts'

/** A request before its validation. */
export type Asked = {
  readonly params: unknown
  readonly query: unknown
  readonly headers?: unknown
  readonly body: unknown
}

/** A validated request. */
export type ParsedOf<Op extends Operation> = {
  readonly params: z.output<Op['params']>
  readonly query: z.output<Op['query']>
  readonly headers: z.output<Op['headers']>
  readonly body: z.output<Op['body']>
}

/**
 * Validates the parts of a request: path, query, headers, body. Throws the error that `toError` makes from the problems
 * of the first wrong part.
 */
export function parseAsked<Op extends Operation>(
  operation: Op,
  { params, query, headers = {}, body }: Asked,
  toError: (error: z.ZodError) => Error,
): ParsedOf<Op> {
  function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
    const result = schema.safeParse(value)
    if (result.success) return result.data
    throw toError(result.error)
  }
  return {
    params: parse<Op['params']>(operation.params, params),
    query: parse<Op['query']>(operation.query, query),
    headers: parse<Op['headers']>(operation.headers, headers),
    body: parse<Op['body']>(operation.body, body),
  }
}

import type { Kysely } from 'kysely'
import { z } from 'zod'
import type { Tables } from '../database/tables.ts'
import type { Reconcile } from '../reconciliation/reconcile.ts'
import { toInvalidRequest, type AdminErrorCode } from './admin-error.ts'
import type { OperationId, Role } from './roles.ts'

/** Who asks: the name and the role of the credential. */
export type Actor = { readonly name: string; readonly role: Role }

export type AdminContext = {
  /** Of a change: its transaction. */
  readonly db: Kysely<Tables>
  readonly actor: Actor
  readonly now: Date
  readonly reconcile: Reconcile
}

/** What a change is remembered by. Never a secret. */
export type AuditEntry = {
  /** The id of what was changed. */
  readonly target: string
  readonly reason?: string | undefined
  readonly details?: Readonly<Record<string, unknown>>
}

/** `audit` is null where nothing changed: it was so before. */
export type Changed<Answer> = { readonly answer: Answer; readonly audit: AuditEntry | null }

/** `parts` are read one after another, as fast as the caller takes them. */
export type Export = { readonly contentType: string; readonly parts: AsyncIterable<string> }

/** As the request has it, not parsed. */
export type Asked = { readonly path: unknown; readonly query: unknown; readonly body: unknown }

type Description<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType> = {
  readonly id: OperationId
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** As OpenAPI writes it, with names in braces, below `/admin/v1`. */
  readonly url: string
  readonly summary: string
  readonly description?: string
  /** A field that is in none of the three is refused. */
  readonly path: Path
  readonly query: Query
  readonly body: Body
  /** Besides those that every operation can answer with. */
  readonly errors: readonly AdminErrorCode[]
}

type AnyDescription = Description<z.ZodObject, z.ZodObject, z.ZodType>

/** One operation of the interface. Its kind says what the server does around it. */
export type Operation =
  | (AnyDescription & {
      readonly kind: 'read'
      readonly answer: z.ZodType
      serve(asked: Asked, context: AdminContext): Promise<unknown>
    })
  | (AnyDescription & {
      readonly kind: 'change'
      readonly status: 200 | 201
      readonly answer: z.ZodType
      /** May be called again, when another transaction came in between. */
      serve(asked: Asked, context: AdminContext): Promise<Changed<unknown>>
    })
  | (AnyDescription & {
      readonly kind: 'export'
      /** By content type, what one line is. */
      readonly lines: Readonly<Record<string, z.ZodType>>
      serve(asked: Asked, context: AdminContext): Promise<Export>
    })

export const NOTHING = z.strictObject({})

/** Changes nothing. */
export function defineRead<Path extends z.ZodObject, Query extends z.ZodObject, Answer extends z.ZodType>(
  definition: Description<Path, Query, typeof NOTHING> & {
    readonly answer: Answer
    run(
      asked: { path: z.output<Path>; query: z.output<Query> },
      context: AdminContext,
    ): Promise<z.input<Answer>>
  },
): Operation {
  return {
    ...definition,
    kind: 'read',
    serve: async ({ path, query }, context) =>
      await definition.run(
        { path: parse(definition.path, path), query: parse(definition.query, query) },
        context,
      ),
  }
}

/** Runs in a transaction, which its audit entry is a part of. */
export function defineChange<
  Path extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Answer extends z.ZodType,
>(
  definition: Description<Path, Query, Body> & {
    readonly status: 200 | 201
    readonly answer: Answer
    run(
      asked: { path: z.output<Path>; query: z.output<Query>; body: z.output<Body> },
      context: AdminContext,
    ): Promise<Changed<z.input<Answer>>>
  },
): Operation {
  return {
    ...definition,
    kind: 'change',
    serve: async ({ path, query, body }, context) =>
      await definition.run(
        {
          path: parse(definition.path, path),
          query: parse(definition.query, query),
          body: parse(definition.body, body),
        },
        context,
      ),
  }
}

/** Answers with lines, however many they are. */
export function defineExport<Path extends z.ZodObject, Query extends z.ZodObject>(
  definition: Description<Path, Query, typeof NOTHING> & {
    readonly lines: Readonly<Record<string, z.ZodType>>
    run(asked: { path: z.output<Path>; query: z.output<Query> }, context: AdminContext): Promise<Export>
  },
): Operation {
  return {
    ...definition,
    kind: 'export',
    serve: async ({ path, query }, context) =>
      await definition.run(
        { path: parse(definition.path, path), query: parse(definition.query, query) },
        context,
      ),
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw toInvalidRequest(result.error)
}

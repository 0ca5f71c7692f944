import type { Kysely } from 'kysely'
import type { z } from 'zod'
import type {
  ChangeOperation,
  ExportOperation,
  Operation,
  ReadOperation,
} from '#libs/admin-contract/operation.ts'
import { parseAsked, type Asked, type ParsedOf } from '#libs/http-contract/parse-asked.ts'
import type { Role } from '#libs/admin-contract/roles.ts'
import type { Tables } from '../database/tables.ts'
import type { Reconcile } from '../books/reconcile.ts'
import { toInvalidRequest } from '../resources/admin-error.ts'
import type { Changed } from '../resources/write-audit.ts'
import type { SessionRow } from './sessions.ts'

/**
 * The credential of a request. If the request has the token of a session, the actor is the credential that opened the
 * session. If the request has a ticket, the actor is the credential that made the ticket.
 */
export type Actor = {
  readonly name: string
  readonly role: Role
  /** The credential's id; null for the configured token. */
  readonly credentialId: string | null
  readonly by:
    | { readonly kind: 'token' }
    | { readonly kind: 'session'; readonly session: SessionRow }
    | { readonly kind: 'ticket'; readonly id: string }
}

/** The state that only this replica knows. */
export type LiveState = {
  readonly replica: string
  /** The ages in milliseconds, by model. */
  readonly watermarkAges: ReadonlyMap<string, number>
  readonly moneyCallsWaiting: number
  /** The number of dead letters, by model. */
  readonly deadLetters: ReadonlyMap<string, number>
}

export type AdminContext = {
  /** The database. For a change it is the change's transaction. */
  readonly db: Kysely<Tables>
  readonly actor: Actor
  readonly now: Date
  readonly reconcile: Reconcile
  /** The number of whole months before the present month that must not be archived. */
  readonly keepMonths: number
  readonly adminToken: string
  readonly live: () => LiveState
}

/** An export. Its `parts` are read one after another, as fast as the caller reads the answer. */
export type Export = { readonly contentType: string; readonly parts: AsyncIterable<string> }

/**
 * An operation of `#libs/admin-contract`, with the function that serves it. The function throws an AdminError for a
 * wrong request.
 */
export type Implementation<Op extends Operation = Operation> = { readonly operation: Op } & (
  | { readonly kind: 'read'; serve(asked: Asked, context: AdminContext): Promise<unknown> }
  | {
      readonly kind: 'change'
      readonly status: 200 | 201
      /** Called again if its transaction conflicted with another one. */
      serve(asked: Asked, context: AdminContext): Promise<Changed<unknown>>
    }
  | { readonly kind: 'export'; serve(asked: Asked, context: AdminContext): Promise<Export> }
)

export function implementRead<Op extends ReadOperation>(
  operation: Op,
  run: (asked: ParsedOf<Op>, context: AdminContext) => Promise<z.input<Op['answer']>>,
): Implementation<Op> {
  return {
    operation,
    kind: 'read',
    serve: async (asked, context) => await run(parseAsked(operation, asked, toInvalidRequest), context),
  }
}

/** Implements a change. `run` is called in a transaction, which also writes the audit entry. */
export function implementChange<Op extends ChangeOperation>(
  operation: Op,
  run: (asked: ParsedOf<Op>, context: AdminContext) => Promise<Changed<z.input<Op['answer']>>>,
): Implementation<Op> {
  return {
    operation,
    kind: 'change',
    status: operation.status,
    serve: async (asked, context) => await run(parseAsked(operation, asked, toInvalidRequest), context),
  }
}

export function implementExport<Op extends ExportOperation>(
  operation: Op,
  run: (asked: ParsedOf<Op>, context: AdminContext) => Promise<Export>,
): Implementation<Op> {
  return {
    operation,
    kind: 'export',
    serve: async (asked, context) => await run(parseAsked(operation, asked, toInvalidRequest), context),
  }
}

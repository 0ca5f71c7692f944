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
import { toInvalidRequest } from './admin-error.ts'
import type { SessionRow } from './sessions.ts'

/** The credential that a request came with, or that its session or ticket belongs to. */
export type Actor = {
  readonly name: string
  readonly role: Role
  /** Null for the configured token. */
  readonly credentialId: string | null
  readonly by:
    | { readonly kind: 'token' }
    | { readonly kind: 'session'; readonly session: SessionRow }
    | { readonly kind: 'ticket'; readonly id: string }
}

/** What the replica that answers knows by itself. */
export type LiveState = {
  readonly replica: string
  /** In milliseconds, by model. */
  readonly watermarkAges: ReadonlyMap<string, number>
  readonly moneyCallsWaiting: number
  /** How many, by model. */
  readonly deadLetters: ReadonlyMap<string, number>
}

export type AdminContext = {
  /** For a change: its transaction. */
  readonly db: Kysely<Tables>
  readonly actor: Actor
  readonly now: Date
  readonly reconcile: Reconcile
  /** So many whole months before the present one are not archived. */
  readonly keepMonths: number
  readonly adminToken: string
  readonly live: () => LiveState
}

/** The audit log's entry for a change. Never contains a secret. */
export type AuditEntry = {
  /** The id of the changed resource. */
  readonly target: string
  readonly reason?: string | undefined
  readonly details?: Readonly<Record<string, unknown>>
}

/** `audit` is null where the change was in effect before. */
export type Changed<Answer> = { readonly answer: Answer; readonly audit: AuditEntry | null }

/** `parts` are read one after another, as fast as the caller reads the answer. */
export type Export = { readonly contentType: string; readonly parts: AsyncIterable<string> }

/** One operation of the contract, with the function that serves it. Throws an AdminError for a request that is wrong. */
export type Implementation<Op extends Operation = Operation> = { readonly operation: Op } & (
  | { readonly kind: 'read'; serve(asked: Asked, context: AdminContext): Promise<unknown> }
  | {
      readonly kind: 'change'
      readonly status: 200 | 201
      /** Is called again when its transaction conflicted with another one. */
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

/** `run` is called in a transaction, which writes the audit entry as well. */
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

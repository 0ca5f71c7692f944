import type { Kysely } from 'kysely'
import type { AuditRole } from '#libs/admin-contract/roles.ts'
import type { Tables } from '../database/tables.ts'

/** The entry of a change in the audit log. It never contains a secret. */
export type AuditEntry = {
  /** The id of the changed resource. */
  readonly target: string
  readonly reason?: string | undefined
  readonly details?: Readonly<Record<string, unknown>>
}

/** The result of a change. `audit` is null if the change was already in effect. */
export type Changed<Answer> = { readonly answer: Answer; readonly audit: AuditEntry | null }

/** The context of a change. `db` is its transaction. */
type WritingContext = {
  readonly db: Kysely<Tables>
  readonly actor: { readonly name: string; readonly role: AuditRole }
  readonly now: Date
}

/** Writes the audit entry of a change, in the transaction of the change: neither is stored without the other. */
export async function writeAudit(
  { db, actor, now }: WritingContext,
  action: string,
  { target, reason, details }: AuditEntry,
): Promise<void> {
  await db
    .insertInto('admin_audit')
    .values({
      at: now,
      actor: actor.name,
      role: actor.role,
      action,
      target,
      reason: reason ?? null,
      details: JSON.stringify(details ?? {}),
    })
    .execute()
}

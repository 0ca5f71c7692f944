import type { Kysely } from 'kysely'
import type { AuditRole } from '#libs/admin-contract/roles.ts'
import type { Tables } from '../database/tables.ts'
import type { AuditEntry } from './implement.ts'

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

import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { AdminContext, AuditEntry } from './implement.ts'

/** Writes the audit entry of a change, in the transaction of the change: neither is stored without the other. */
export async function writeAudit(
  { db, actor, now }: Pick<AdminContext, 'actor' | 'now'> & { db: Kysely<Tables> },
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

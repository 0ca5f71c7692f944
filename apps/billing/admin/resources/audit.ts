import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { implementRead } from '../implement.ts'
import { toPage, toSeq } from '../list-page.ts'

const listAudit = implementRead(
  ADMIN.listAudit,
  async ({ query: { actor, action, target, from, to, limit, cursor } }, { db }) => {
    let records = db
      .selectFrom('admin_audit')
      .selectAll()
      .orderBy('seq', 'desc')
      .limit(limit + 1)
    if (actor !== undefined) records = records.where('actor', '=', actor)
    if (action !== undefined) records = records.where('action', '=', action)
    if (target !== undefined) records = records.where('target', '=', target)
    if (from !== undefined) records = records.where('at', '>=', from)
    if (to !== undefined) records = records.where('at', '<', to)
    if (cursor !== undefined) records = records.where('seq', '<', toSeq(cursor))
    return toPage(await records.execute(), limit, {
      item: ({ seq, at, ...record }) => ({ ...record, seq: seq.toString(), at: at.toISOString() }),
      cursor: ({ seq }) => seq.toString(),
    })
  },
)

export const AUDIT_OPERATIONS = { listAudit }

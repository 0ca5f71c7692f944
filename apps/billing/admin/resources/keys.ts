import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { changeKeyTo, createKeyOf } from '../../resources/change-keys.ts'
import { readKeyRecord, selectKeys, toKeyRecord } from '../../resources/key-record.ts'
import { rotateKeyOf, setKeyStatus } from '../../resources/key-states.ts'
import type { KeyContext } from '../../resources/operator-limits.ts'
import { readAccount } from '../../resources/read-account.ts'
import { implementChange, implementRead, type AdminContext } from '../implement.ts'
import { isAfterCursor, toPage } from '../list-page.ts'

const byOperator = ({ db, now }: AdminContext): KeyContext => ({ db, now, setBy: 'operator' })

const createKey = implementChange(
  ADMIN.createKey,
  async ({ params, body }, context) => await createKeyOf(byOperator(context), params.account, body),
)

const listKeys = implementRead(
  ADMIN.listKeys,
  async ({ query: { account, prefix, last4, limit, cursor } }, { db, now }) => {
    let keys = selectKeys(db, now)
      .orderBy('k.created_at', 'desc')
      .orderBy('k.id', 'desc')
      .limit(limit + 1)
    if (account !== undefined) keys = keys.where('k.account_id', '=', (await readAccount(db, account)).id)
    if (prefix !== undefined)
      keys = keys.where((eb) => eb(eb.fn('starts_with', ['k.prefix', eb.val(prefix)]), '=', true))
    if (last4 !== undefined) keys = keys.where('k.last4', '=', last4)
    if (cursor !== undefined) {
      keys = keys.where(await isAfterCursor(db, { table: 'api_keys', alias: 'k' }, cursor))
    }
    return toPage(await keys.execute(), limit, {
      item: (key) => toKeyRecord(key, now),
      cursor: ({ id }) => id,
    })
  },
)

const readKey = implementRead(
  ADMIN.readKey,
  async ({ params }, { db, now }) => await readKeyRecord(db, params.key, now),
)

const changeKey = implementChange(
  ADMIN.changeKey,
  async ({ params, body }, context) => await changeKeyTo(byOperator(context), params.key, body),
)

const rotateKey = implementChange(
  ADMIN.rotateKey,
  async ({ params, body }, context) => await rotateKeyOf(byOperator(context), params.key, body),
)

const disableKey = implementChange(ADMIN.disableKey, ({ params, body }, context) =>
  setKeyStatus(byOperator(context), { id: params.key, status: 'disabled', ...body }),
)

const enableKey = implementChange(ADMIN.enableKey, ({ params, body }, context) =>
  setKeyStatus(byOperator(context), { id: params.key, status: 'active', ...body }),
)

const revokeKey = implementChange(ADMIN.revokeKey, ({ params, body }, context) =>
  setKeyStatus(byOperator(context), { id: params.key, status: 'revoked', ...body }),
)

export const KEY_OPERATIONS = {
  createKey,
  listKeys,
  readKey,
  changeKey,
  rotateKey,
  disableKey,
  enableKey,
  revokeKey,
}

import { sql, type Kysely } from 'kysely'
import { z } from 'zod'
import type { KeyLimits } from '#libs/admin-contract/resources/keys.ts'
import { AdminError } from './admin-error.ts'
import type { Tables } from '../database/tables.ts'

/** The context of a change of keys: the transaction, its time, and the author of the change. */
export type KeyContext = {
  readonly db: Kysely<Tables>
  readonly now: Date
  /** The author: an operator, or the account with a management key. */
  readonly setBy: 'operator' | 'account'
}

/**
 * The limits that operators have set on a key, in the form of `api_keys.operator_limits`. The account may give the key
 * stricter limits, but never less strict ones. If an operator changes a limit, the new limit replaces the old one.
 */
export const OperatorLimits = z.object({
  disabled: z.literal(true).optional(),
  expiresAt: z.iso.datetime().optional(),
  models: z.array(z.string()).optional(),
  spendLimit: z
    .object({ amountNano: z.string(), period: z.enum(['day', 'week', 'month', 'total']) })
    .optional(),
  requestsPerMinute: z.int().optional(),
  tokensPerMinute: z.int().optional(),
})
export type OperatorLimits = z.infer<typeof OperatorLimits>

/** Returns the names of the set limits, as operators see them on a key. */
export function toSetNames(set: OperatorLimits): (keyof OperatorLimits)[] {
  return OperatorLimits.keyof().options.filter((name) => set[name] !== undefined)
}

/** Returns the limits after a change by an operator. A limit that the operator removes no longer binds the account. */
export function withOperatorChange(present: OperatorLimits, limits: KeyLimits): OperatorLimits {
  const { expiresAt, models, spendLimit, requestsPerMinute, tokensPerMinute } = limits
  return OperatorLimits.parse({
    ...present,
    ...(expiresAt !== undefined && { expiresAt: expiresAt?.toISOString() }),
    ...(models !== undefined && { models: models ?? undefined }),
    ...(spendLimit !== undefined && {
      spendLimit:
        spendLimit === null ? undefined : { ...spendLimit, amountNano: spendLimit.amountNano.toString() },
    }),
    ...(requestsPerMinute !== undefined && { requestsPerMinute: requestsPerMinute ?? undefined }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute: tokensPerMinute ?? undefined }),
  })
}

/** Throws an AdminError if the account's change gives more than an operator has set. */
export function assertWithin(set: OperatorLimits, limits: KeyLimits): void {
  const { expiresAt, models, spendLimit, requestsPerMinute, tokensPerMinute } = limits
  if (set.expiresAt !== undefined && expiresAt !== undefined) {
    if (expiresAt === null || expiresAt > new Date(set.expiresAt)) refuse('expiresAt', set.expiresAt)
  }
  if (set.models !== undefined && models !== undefined) {
    const allowed = new Set(set.models)
    if (models === null || !models.every((model) => allowed.has(model)))
      refuse('models', set.models.join(', '))
  }
  if (set.spendLimit !== undefined && spendLimit !== undefined) {
    const { amountNano, period } = set.spendLimit
    // The same amount in another period may be more, and spending would be counted from zero again.
    const isWithin = spendLimit?.period === period && spendLimit.amountNano <= BigInt(amountNano)
    if (!isWithin) refuse('spendLimit', `${amountNano} nano-credits, ${period}`)
  }
  assertRate('requestsPerMinute', set.requestsPerMinute, requestsPerMinute)
  assertRate('tokensPerMinute', set.tokensPerMinute, tokensPerMinute)
}

function assertRate(name: string, set: number | undefined, wanted: number | null | undefined): void {
  if (set === undefined || wanted === undefined) return
  if (wanted === null || wanted > set) refuse(name, String(set))
}

function refuse(name: string, set: string): never {
  throw new AdminError(
    'conflict',
    `'${name}': an operator has set it (${set}), and only an operator can give more.`,
    name,
  )
}

/** Throws an AdminError if an operator has disabled the key. */
export function assertMayEnable({ disabled }: OperatorLimits): void {
  if (disabled)
    throw new AdminError('conflict', 'An operator has disabled this key: only an operator can enable it.')
}

/**
 * Throws an AdminError if operators have set a spend limit or a rate limit on the key. Spending and requests are
 * counted for each key, and these counts would begin at zero for the key's successor.
 */
export function assertMayRotate(set: OperatorLimits): void {
  if (!isCounted(set)) return
  throw new AdminError(
    'conflict',
    'An operator limits what this key may spend or ask for, which would be counted anew for its successor: ' +
      'only an operator can rotate it.',
  )
}

/**
 * Returns the operators' limits that apply to a new key which the account itself makes. Throws an AdminError if the
 * account could use the new key to evade a limit that an operator has set on another key of the account. For example,
 * the account could use the new key in place of a disabled key, or in place of a key whose spending or rate is limited,
 * because both are counted for each key separately. Also throws if the limits that would apply to the new key allow no
 * model, or if their expiry has passed.
 *
 * Limits of a key that the account has revoked apply too: otherwise the account could revoke a limited key and make
 * another. Limits of a key that an operator has revoked do not apply. If a key was rotated, the limits of its successor
 * apply in place of the key's own.
 */
export async function toNewKeyLimits({ db, now }: KeyContext, accountId: string): Promise<OperatorLimits> {
  const { rows } = await sql<{ operator_limits: unknown }>`
    select k.operator_limits from api_keys k
    where k.account_id = ${accountId} and k.operator_limits <> '{}'
      and not exists (select from api_keys s where s.account_id = k.account_id and s.rotated_from = k.id)`.execute(
    db,
  )
  const set = rows.map((row) => OperatorLimits.parse(row.operator_limits))
  if (set.some(({ disabled }) => disabled)) refuseNewKey('An operator has disabled a key of this account')
  if (set.some(isCounted)) refuseNewKey('An operator limits what a key of this account may spend or ask for')
  const inherited = set.reduce(strictest, {})
  if (inherited.models?.length === 0) {
    refuseNewKey('Operators have limited keys of this account to different models')
  }
  if (inherited.expiresAt !== undefined && new Date(inherited.expiresAt) <= now) {
    refuseNewKey('A key of this account has expired at the time that an operator set')
  }
  return inherited
}

function refuseNewKey(why: string): never {
  throw new AdminError('conflict', `${why}: only an operator can make new keys for it.`)
}

/** Returns true if a limit is counted for each key separately. */
function isCounted({ spendLimit, requestsPerMinute, tokensPerMinute }: OperatorLimits): boolean {
  return spendLimit !== undefined || requestsPerMinute !== undefined || tokensPerMinute !== undefined
}

function strictest(one: OperatorLimits, other: OperatorLimits): OperatorLimits {
  const expiries = [one.expiresAt, other.expiresAt].filter((time) => time !== undefined)
  const [expiresAt] = expiries.toSorted((a, b) => Date.parse(a) - Date.parse(b))
  const models =
    one.models === undefined || other.models === undefined
      ? (one.models ?? other.models)
      : one.models.filter((model) => other.models?.includes(model))
  return { ...(expiresAt !== undefined && { expiresAt }), ...(models !== undefined && { models }) }
}

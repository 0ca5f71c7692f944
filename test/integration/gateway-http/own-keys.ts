import type { KeyManagement } from '#libs/billing-client/key-management.ts'
import type { AccountKey__Output } from '#proto/types/millrace/billing/AccountKey.ts'
import type { KeyRefusal__Output } from '#proto/types/millrace/billing/KeyRefusal.ts'

export const OWN_KEY_ID = '8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77'

const SECRET = 'mr_live_4cFhqWJpZ0s7XbD2nVtYkGmRuLe8AaQoC1xCRh'

const OWN_KEY: AccountKey__Output = {
  keyId: OWN_KEY_ID,
  label: 'mr_live_mcHg…cCRh',
  name: '',
  status: 'active',
  createdAtMs: '1',
  expiresAtMs: '0',
  revokedAtMs: '0',
  lastUsedAtMs: '0',
  rotatedFrom: '',
  models: null,
  requestsPerMinute: 0,
  tokensPerMinute: '0',
  limit: { amountNano: '25000000000', leftNano: '6600000001', period: 'total' },
  usage: { totalNano: '18400000000', dayNano: '1', weekNano: '1', monthNano: '1' },
}

const refuse = (reason: KeyRefusal__Output['reason'], message: string) => ({
  key: null,
  secret: '',
  replayed: false,
  refusal: { reason, message, param: '' },
})

/** Billing, as far as a management key works with it: the account has one key. It is used with `idempotency-key: used`. */
export function createOwnKeys(): Pick<KeyManagement, 'listAccountKeys' | 'manageKey'> {
  return {
    listAccountKeys: async () => ({ keys: [OWN_KEY], nextCursor: '' }),
    async manageKey({ keyId, idempotencyKey, create, change, rotate }) {
      if (create == null && keyId !== OWN_KEY_ID)
        return refuse('NOT_FOUND', `There is no key ${keyId ?? ''}.`)
      if (idempotencyKey === 'used' || change?.name === 'conflict') return refuse('CONFLICT', 'It was used.')
      const makes = create != null || rotate != null
      return { key: OWN_KEY, secret: makes ? SECRET : '', replayed: false, refusal: null }
    },
  }
}

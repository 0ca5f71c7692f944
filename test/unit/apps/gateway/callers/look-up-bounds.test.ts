import { expect, it } from 'vitest'
import { createLookUpBounds } from '#apps/gateway/callers/look-up-bounds.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'

function setUp() {
  const clock = { ms: 1_000 }
  const { enter } = createLookUpBounds({ nowMs: () => clock.ms })
  const times = (count: number, address: string) => Array.from({ length: count }, () => enter(address))
  return { clock, enter, times }
}

it('one address has a share of the look-ups that are under way', () => {
  const { enter, times } = setUp()
  const ends = times(250, 'a')
  expect(() => enter('a')).toThrow(BillingUnavailable)
  enter('b')
  ends[0]?.('found')
  enter('a')
  expect(() => enter('a')).toThrow(BillingUnavailable)
})

it('the addresses of one IPv6 customer count as one', () => {
  const { enter, times } = setUp()
  times(250, '2001:db8::1')
  expect(() => enter('2001:db8::2')).toThrow(BillingUnavailable)
  enter('2001:db8:0:1::1')
})

it('all addresses together leave some to keys that are known', () => {
  const { enter, times } = setUp()
  for (const address of ['a', 'b', 'c']) times(250, address)
  expect(() => enter('d')).toThrow(BillingUnavailable)
})

it('an address has a rate of keys that nobody knows; found ones do not count', () => {
  const { clock, enter } = setUp()
  for (let key = 0; key < 2_000; key += 1) enter('a')('found')
  for (let key = 0; key < 1_000; key += 1) enter('a')('unknown')
  expect(() => enter('a')).toThrow(expect.objectContaining({ code: 'model_busy', retryAfterS: 0.01 }))
  enter('b')
  clock.ms += 1_000
  for (let key = 0; key < 100; key += 1) enter('a')('unknown')
  expect(() => enter('a')).toThrow(expect.objectContaining({ code: 'model_busy' }))
  clock.ms += 3_600_000
  for (let key = 0; key < 1_000; key += 1) enter('a')('failed')
})

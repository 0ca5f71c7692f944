import { expect, it } from 'vitest'
import { createSenderRate } from '#apps/gateway/http/sender-rate.ts'

/** Allows an account two requests per second: 20 at once, 10 from one address. */
function createRate() {
  let now = 5_000_000
  const rate = createSenderRate({ perS: 2, tooMany: 'Too many.', nowMs: () => now })
  const send = (account: string, address: string) => {
    rate.check({ account, address })
    rate.note({ account, address })
  }
  return {
    ...rate,
    send,
    sendMany(count: number, account: string, address: string) {
      for (let sent = 0; sent < count; sent += 1) send(account, address)
    },
    wait(ms: number) {
      now += ms
    },
  }
}

it('takes a burst from one address, then its rate', () => {
  const { send, sendMany, wait } = createRate()
  sendMany(10, 'a', '10.0.0.1')
  expect(() => send('a', '10.0.0.1')).toThrow(
    expect.objectContaining({ code: 'model_busy', retryAfterS: expect.closeTo(1) }),
  )
  wait(1_000)
  send('a', '10.0.0.1')
  expect(() => send('a', '10.0.0.1')).toThrow(/Too many/)
})

it('leaves the other half of an account to its other addresses, and no more', () => {
  const { send, sendMany } = createRate()
  sendMany(10, 'a', '10.0.0.1')
  sendMany(10, 'a', '10.0.0.2')
  expect(() => send('a', '10.0.0.3')).toThrow(/Too many/)
})

it('counts no account for another', () => {
  const { send, sendMany } = createRate()
  sendMany(10, 'a', '10.0.0.1')
  expect(() => send('a', '10.0.0.1')).toThrow(/Too many/)
  expect(() => send('b', '10.0.0.1')).not.toThrow()
})

it('counts refusals alone', () => {
  const { check } = createRate()
  const sender = { account: 'a', address: '10.0.0.1' }
  for (let sent = 0; sent < 1_000; sent += 1) check(sender)
  expect(() => check(sender)).not.toThrow()
})

it('makes nobody wait longer than the time of a burst, however many were answered at once', () => {
  const { note, check, wait } = createRate()
  const sender = { account: 'a', address: '10.0.0.1' }
  for (let answered = 0; answered < 10_000; answered += 1) note(sender)
  expect(() => check(sender)).toThrow(/Too many/)
  wait(11_000)
  expect(() => check(sender)).not.toThrow()
})

it('remembers an account whose refusals come from a flood of addresses', () => {
  const { note, check } = createRate()
  for (let sent = 0; sent < 30_000; sent += 1)
    note({ account: 'a', address: `10.${sent >> 16}.${sent >> 8}.${sent & 255}` })
  expect(() => check({ account: 'a', address: '10.0.0.1' })).toThrow(/Too many/)
})

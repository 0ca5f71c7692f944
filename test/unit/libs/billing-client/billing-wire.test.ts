import { expect, test } from 'vitest'
import type { BillingKey, HoldAnswer, ReserveCall } from '#libs/billing-client/billing-calls.ts'
import {
  fromHoldMessage,
  fromKeyMessage,
  fromReserveMessage,
  fromResizeMessage,
  toHoldMessage,
  toKeyMessage,
  toReserveMessage,
  toResizeMessage,
} from '#libs/billing-client/billing-wire.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import type { ProtoGrpcType } from '#proto/types/billing.ts'

const { Billing } = loadProto<ProtoGrpcType>('billing.proto').millrace.billing
const { money, lookUpKey } = { money: Billing.service.Money, lookUpKey: Billing.service.LookUpKey }

/** Encodes an answer to wire bytes and decodes these bytes, so that it returns what the receiver reads. */
function sendHold(answer: HoldAnswer): HoldAnswer {
  const message = money.responseDeserialize(
    money.responseSerialize({ replies: [{ seq: '1', reply: 'hold', hold: toHoldMessage(answer) }] }),
  )
  const hold = message.replies[0]?.hold
  if (!hold) throw new Error('there is no hold in the reply')
  return fromHoldMessage(hold)
}

const MOST = toNanoCredits(2n ** 63n - 1n)

test.each<HoldAnswer>([
  {
    status: 'granted',
    amountNano: MOST,
    outputTokens: 17,
    clamped: true,
    prices: { inputPriceNano: 999_999_999_999_999_999n, cachedInputPriceNano: 0n, outputPriceNano: 1n },
    receipt: 'payload.mac',
  },
  { status: 'insufficient-credits', availableNano: toNanoCredits(0n), heldNano: MOST },
  { status: 'key-limit', availableNano: toNanoCredits(1n), heldNano: toNanoCredits(0n) },
  { status: 'key-rate', retryAfterS: 59 },
  { status: 'key-invalid' },
  { status: 'model-unknown' },
  { status: 'conflict' },
])('the answer $status crosses the wire unchanged', (answer) => {
  expect(sendHold(answer)).toEqual(answer)
})

test('an answer without a status is an error, not a grant of nothing', () => {
  const { replies } = money.responseDeserialize(
    money.responseSerialize({ replies: [{ reply: 'hold', hold: {} }] }),
  )
  const hold = replies[0]?.hold
  if (!hold) throw new Error('there is no hold in the reply')
  expect(() => fromHoldMessage(hold)).toThrow(RangeError)
})

const CALL = {
  reservationId: '01890a5d-ac96-774b-bcce-b302099a8057',
  keyId: '01890a5d-ac96-774b-bcce-b302099a8058',
  model: 'm',
  inputTokens: 1_000_000_000,
  outputTokens: 0,
  deadlineMs: 1_893_456_000_123,
}

function sendReserve(call: ReserveCall) {
  const message = money.requestDeserialize(
    money.requestSerialize({ calls: [{ seq: '1', call: 'reserve', reserve: toReserveMessage(call) }] }),
  )
  const reserve = message.calls[0]?.reserve
  if (!reserve) throw new Error('there is no reserve in the call')
  return fromReserveMessage(reserve)
}

test('a reserve crosses the wire unchanged', () => {
  expect(sendReserve(CALL)).toEqual(CALL)
  const rolling = { ...CALL, outputTokens: 2_048, rolling: { expectedTokens: 332, leastTokens: 0 } }
  expect(sendReserve(rolling)).toEqual(rolling)
})

test('the number of choices crosses the wire in every call, and one choice as an absent number', () => {
  const { reservationId, inputTokens, outputTokens } = CALL
  expect(sendReserve({ ...CALL, choices: 8 })).toEqual({ ...CALL, choices: 8 })
  expect(sendReserve({ ...CALL, choices: 1 })).toEqual(CALL)
  const resizes = [
    { reservationId, inputTokens, outputTokens, choices: 2 },
    { reservationId, inputTokens: 0, outputTokens, choices: 2 },
    { reservationId, outputTokens, deadlineMs: 1, choices: 3 },
  ]
  const { calls } = money.requestDeserialize(
    money.requestSerialize({
      calls: resizes.map((call) => ({ call: 'resize', resize: toResizeMessage(call) })),
    }),
  )
  expect(calls.map(({ resize }) => resize && fromResizeMessage(resize))).toEqual(resizes)
})

test.each([
  ['no UUID as id', { reservationId: 'x' }],
  ['no UUID as key', { keyId: '' }],
  ['more tokens than any request has', { inputTokens: 1_000_000_001 }],
  ['more expected tokens', { rolling: { expectedTokens: 1_000_000_001, leastTokens: 0 } }],
  ['no deadline', { deadlineMs: 0 }],
  ['more choices than any request has', { choices: 9 }],
])('a reserve with %s is refused', (_, change) => {
  expect(() => sendReserve({ ...CALL, ...change })).toThrow(RangeError)
})

test.each<Pick<BillingKey, 'expiresAtMs' | 'models' | 'shortage'>>([
  { expiresAtMs: null, models: null, shortage: null },
  {
    expiresAtMs: 1_893_456_000_000,
    models: ['org/a', 'b'],
    shortage: { of: 'account', availableNano: toNanoCredits(0n), heldNano: MOST },
  },
  {
    expiresAtMs: null,
    models: [],
    shortage: { of: 'key-limit', availableNano: toNanoCredits(1n), heldNano: toNanoCredits(0n) },
  },
])('a key crosses the wire unchanged: %#', (fields) => {
  const key = {
    keyId: CALL.keyId,
    accountId: CALL.reservationId,
    weight: 3,
    sha256: Buffer.alloc(32, 7),
    active: true,
    ...fields,
  }
  const message = lookUpKey.responseDeserialize(
    lookUpKey.responseSerialize({ found: true, key: toKeyMessage(key) }),
  )
  if (!message.key) throw new Error('there is no key in the answer')
  expect(fromKeyMessage(message.key)).toEqual(key)
})

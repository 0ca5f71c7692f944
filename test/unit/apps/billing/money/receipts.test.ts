import { createHmac, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { createReceipts, type Receipt } from '#apps/billing/money/receipts.ts'

const OLD = 'the-secret-before-of-the-tests-alone'
const NEW = 'the-secret-after-of-the-tests-alone'

const RECEIPT: Receipt = {
  reservationId: randomUUID(),
  accountId: randomUUID(),
  keyId: randomUUID(),
  model: 'chat',
  inputTokens: 100,
  outputTokens: 50,
  deadlineMs: 1_893_456_600_000,
  priceVersion: 7n,
  // A JavaScript number cannot represent this value exactly.
  inputPriceNano: 2n ** 63n - 1n,
  cachedInputPriceNano: 0n,
  outputPriceNano: 600_000_000n,
  grantedTokens: 40,
  amountNano: 2n ** 63n - 1n,
  clamped: true,
}

const receipts = createReceipts([NEW])
const text = receipts.sign(RECEIPT)
const other = receipts.sign({ ...RECEIPT, cachedInputPriceNano: 1n })

test('a receipt has the signed values', () => {
  expect(receipts.verify(text, RECEIPT.reservationId)).toEqual(RECEIPT)
})

test('a receipt of another reservation is worth nothing', () => {
  expect(receipts.verify(text, randomUUID())).toBeNull()
})

test('the first secret signs, and receipts of the others stay good while they are listed', () => {
  const before = createReceipts([OLD]).sign(RECEIPT)
  const both = createReceipts([NEW, OLD])
  expect(both.verify(before, RECEIPT.reservationId)).toEqual(RECEIPT)
  expect(both.sign(RECEIPT)).toBe(text)
  expect(receipts.verify(before, RECEIPT.reservationId)).toBeNull()
})

test('not one changed character leaves a receipt good', () => {
  const accepted = Array.from(text, (_, place) => place).filter(
    (place) => receipts.verify(changeAt(text, place), RECEIPT.reservationId) !== null,
  )
  // The last character of base64 carries two bits of the MAC's last byte; its other bits mean nothing.
  expect(accepted.filter((place) => place !== text.length - 1)).toEqual([])
})

test.each([
  ['nothing', ''],
  ['a dot', '.'],
  ['no MAC', text.slice(0, text.indexOf('.'))],
  ['an empty MAC', text.slice(0, text.indexOf('.') + 1)],
  ['half of the MAC', text.slice(0, -11)],
  ['a MAC alone', text.slice(text.indexOf('.'))],
  ['other prices with its MAC', `${other.slice(0, other.indexOf('.'))}${text.slice(text.indexOf('.'))}`],
  ['more than a receipt', `${text}.`],
  ['words', 'not a receipt at all'],
  ['characters beyond base64', '\u{1f600}.\u{1f600}'],
])('a text that is not a receipt is rejected: %s', (_, garbage) => {
  expect(receipts.verify(garbage, RECEIPT.reservationId)).toBeNull()
})

test('a receipt of the next release is read, without what this one does not know', () => {
  const next = receipts.sign(Object.assign({}, RECEIPT, { tier: 'priority' }))
  expect(next).not.toBe(text)
  expect(receipts.verify(next, RECEIPT.reservationId)).toEqual(RECEIPT)
  expect(receipts.verify(changeAt(next, next.indexOf('.') - 4), RECEIPT.reservationId)).toBeNull()
})

test.each([
  ['without a field', JSON.stringify({ reservationId: RECEIPT.reservationId })],
  ['that is no object', '"all of it"'],
  ['that is no JSON', '{"reservationId":'],
])('what is genuinely signed and cannot be read is worth nothing: %s', (_, payload) => {
  expect(receipts.verify(signed(payload), RECEIPT.reservationId)).toBeNull()
})

function signed(payload: string): string {
  const encoded = Buffer.from(payload).toString('base64url')
  const mac = createHmac('sha256', NEW).update(encoded).digest().subarray(0, 16)
  return `${encoded}.${mac.toString('base64url')}`
}

function changeAt(original: string, place: number): string {
  return `${original.slice(0, place)}${original[place] === 'A' ? 'B' : 'A'}${original.slice(place + 1)}`
}

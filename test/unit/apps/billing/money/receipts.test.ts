import { createHmac, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { createReceipts, type Receipt, type Receipts } from '#apps/billing/money/receipts.ts'
import { proveSettlement, toOrphanReceipt } from '#libs/contracts/settlement-proof.ts'

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

const SETTLEMENT = {
  id: RECEIPT.reservationId,
  epoch: 2,
  outcome: 'completed',
  promptTokens: 100,
  cachedTokens: 10,
  completionTokens: 7,
} as const

const read = (by: Receipts, receipt: string, id = RECEIPT.reservationId) =>
  by.verify({ ...SETTLEMENT, id, receipt })?.receipt ?? null

const receipts = createReceipts([NEW])
const text = receipts.sign(RECEIPT)
const other = receipts.sign({ ...RECEIPT, cachedInputPriceNano: 1n })

test('a receipt has the signed values', () => {
  expect(read(receipts, text)).toEqual(RECEIPT)
})

test('a receipt of another reservation is worth nothing', () => {
  expect(read(receipts, text, randomUUID())).toBeNull()
})

test('the first secret signs, and receipts of the others stay good while they are listed', () => {
  const before = createReceipts([OLD]).sign(RECEIPT)
  const both = createReceipts([NEW, OLD])
  expect(read(both, before)).toEqual(RECEIPT)
  expect(both.sign(RECEIPT)).toBe(text)
  expect(read(receipts, before)).toBeNull()
})

test('a proof is good for its settlement alone, and is made with the MAC, which it does not show', () => {
  const mac = text.slice(text.indexOf('.') + 1)
  const receipt = proveSettlement(text, SETTLEMENT)
  expect(receipt).not.toContain(mac)
  expect(receipts.verify({ ...SETTLEMENT, receipt })).toEqual({ receipt: RECEIPT, orphanOf: null })
  for (const other of [
    { id: randomUUID() },
    { epoch: 3 },
    { outcome: 'fault' as const },
    { promptTokens: 99 },
    { cachedTokens: 11 },
    { completionTokens: 8 },
    { orphanOf: 'gateway-1' },
  ]) {
    expect([other, receipts.verify({ ...SETTLEMENT, receipt, ...other })]).toEqual([other, null])
  }
})

test('the receipt of a job proves which gateway has the hold, and settles nothing for it', () => {
  const receipt = toOrphanReceipt(text, 'gateway-1')
  const orphan = { ...SETTLEMENT, receipt, orphanOf: 'gateway-1' }
  expect(receipts.verify(orphan)).toEqual({ receipt: RECEIPT, orphanOf: 'gateway-1' })
  expect(receipts.verify({ ...orphan, orphanOf: 'gateway-2' })).toBeNull()
  expect(receipts.verify({ ...SETTLEMENT, receipt })).toBeNull()
  // Nobody can make a proof from a proof.
  expect(receipts.verify({ ...SETTLEMENT, receipt: proveSettlement(receipt, SETTLEMENT) })).toBeNull()
})

test('a receipt without a MAC makes no proof', () => {
  expect([proveSettlement('', SETTLEMENT), toOrphanReceipt('text', 'gateway-1')]).toEqual(['', ''])
})

test('not one changed character leaves a receipt good', () => {
  const accepted = Array.from(text, (_, place) => place).filter(
    (place) => read(receipts, changeAt(text, place)) !== null,
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
  expect(read(receipts, garbage)).toBeNull()
})

test('a receipt of the next release is read, without what this one does not know', () => {
  const next = receipts.sign(Object.assign({}, RECEIPT, { tier: 'priority' }))
  expect(next).not.toBe(text)
  expect(read(receipts, next)).toEqual(RECEIPT)
  expect(read(receipts, changeAt(next, next.indexOf('.') - 4))).toBeNull()
})

test.each([
  ['without a field', JSON.stringify({ reservationId: RECEIPT.reservationId })],
  ['that is no object', '"all of it"'],
  ['that is no JSON', '{"reservationId":'],
])('what is genuinely signed and cannot be read is worth nothing: %s', (_, payload) => {
  expect(read(receipts, signed(payload))).toBeNull()
})

function signed(payload: string): string {
  const encoded = Buffer.from(payload).toString('base64url')
  const mac = createHmac('sha256', NEW).update(encoded).digest().subarray(0, 16)
  return `${encoded}.${mac.toString('base64url')}`
}

function changeAt(original: string, place: number): string {
  return `${original.slice(0, place)}${original[place] === 'A' ? 'B' : 'A'}${original.slice(place + 1)}`
}

import { randomUUID } from 'node:crypto'
import type { Receipt } from '#apps/billing/money/receipts.ts'
import { receipts } from '../support/billing-database.ts'
import { readReceipt } from '../support/proven.ts'
import type { Step } from './money-steps.ts'

type ReceiptKind = Extract<Step, { kind: 'settle' }>['entries'][number]['receipt']

/** Keeps the receipts that billing returned, by reservation. */
export function createReceiptPurse() {
  const kept: { id: string; text: string; receipt: Receipt }[] = []
  return {
    has: (id: string) => kept.some((entry) => entry.id === id),

    keep(id: string, text: string): Receipt {
      const receipt = readReceipt(text, id)
      if (receipt === null) throw new Error('billing gave a receipt that is not genuine')
      kept.push({ id, text, receipt })
      return receipt
    },

    /** Returns the text of a receipt for a settlement, and its content if billing must accept it. */
    take(id: string, kind: ReceiptKind): { text?: string; receipt: Receipt | null } {
      const own = kept.filter((entry) => entry.id === id)
      const found = kind === 'oldest' ? own[0] : own.at(-1)
      const other = kept.findLast((entry) => entry.id !== id)
      if (kind === 'of-another') return { ...(other && { text: other.text }), receipt: null }
      if (found === undefined || kind === 'none') return { receipt: null }
      const { text, receipt } = found
      switch (kind) {
        case 'newest':
        case 'oldest':
          return { text, receipt }
        case 'forged':
          return { text: forge(text), receipt: null }
        case 'of-no-account':
          return sign({ ...receipt, ...MUCH, accountId: randomUUID() })
        case 'of-no-price':
          return sign({ ...receipt, ...MUCH, ...UNKNOWN_PRICES })
        case 'renumbered':
          return sign({ ...receipt, priceVersion: receipt.priceVersion + 1n })
      }
    },
  }
}

const MUCH = { amountNano: 1_000_000n }

const UNKNOWN_PRICES = { inputPriceNano: 5n, cachedInputPriceNano: 5n, outputPriceNano: 5n }

const sign = (receipt: Receipt) => ({ text: receipts.sign(receipt), receipt })

/** Returns a receipt with a larger amount and the old signature. */
function forge(text: string): string {
  const [payload = '', ...rest] = text.split('.')
  const changed = Buffer.from(payload, 'base64url').toString().replace('"amountNano":"', '$&1')
  return [Buffer.from(changed).toString('base64url'), ...rest].join('.')
}

import { createHash } from 'node:crypto'
import {
  ArchivedReservation,
  ArchivedUsage,
  type ArchivePart,
} from '#libs/admin-contract/resources/archives.ts'
import { LedgerEntry } from '#libs/admin-contract/resources/ledger.ts'

/** The number of lines of a file, the file's hash, and the sum of the amounts in its lines. */
export type Tally = {
  readonly lines: number
  readonly sha256: string
  readonly sumNano: string
  /** The hash of the seals' chain after a ledger file's entries, and the number of the last entry. */
  readonly chain: string
  readonly lastSeq: bigint
}

/**
 * Counts the lines of one file of a month, computes the hash of the file, and sums the amounts in the lines. The caller
 * passes each line to `add`, in order and with its line end. For a ledger file, `chain` is the hash of the seals' chain
 * before the file's first entry, and `reached` is the number of the ledger entry before that entry. `add` throws for a
 * line that does not belong to this file.
 */
export function createTally(part: ArchivePart, { chain, reached }: { chain: string; reached: bigint }) {
  const hash = createHash('sha256')
  let lines = 0
  let sum = 0n
  let [link, lastSeq]: [Buffer, bigint] = [Buffer.from(chain, 'hex'), reached]

  function addEntry(value: unknown): bigint {
    const { cursor: _, ...entry } = LedgerEntry.parse(value)
    if (BigInt(entry.seq) <= lastSeq) throw new Error(`entry ${entry.seq} is not in its order`)
    lastSeq = BigInt(entry.seq)
    // docs/billing.md describes the chain.
    link = createHash('sha256').update(link).update(Object.values(entry).join('|')).digest()
    return BigInt(entry.amountNano)
  }

  const amountOf: Record<ArchivePart, (value: unknown) => bigint> = {
    ledger: addEntry,
    usage: (value) => BigInt(ArchivedUsage.parse(value).costNano),
    reservations: (value) => BigInt(ArchivedReservation.parse(value).amountNano ?? 0),
  }

  return {
    add(line: string): void {
      lines += 1
      sum += amountOf[part](JSON.parse(line))
      hash.update(line)
    },
    /** Returns the tally. It may be called once, when all lines are added. */
    end: (): Tally => ({
      lines,
      sha256: hash.digest('hex'),
      sumNano: sum.toString(),
      chain: link.toString('hex'),
      lastSeq,
    }),
  }
}

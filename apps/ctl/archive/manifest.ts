import { z } from 'zod'
import type { ArchivePart } from '#libs/admin-contract/resources/archives.ts'

const Hash = z.string().regex(/^[0-9a-f]{64}$/)
const Nano = z.string().regex(/^\d+$/)

const File = z.strictObject({
  /** The name of a file in the manifest's folder. */
  name: z.string().regex(/^[\w.-]+$/),
  lines: z.int().min(0),
  /** The hash of the uncompressed lines, including line ends. */
  sha256: Hash,
  /** The sum of the ledger's entries, of the costs of usage, or of the reserved amounts. */
  sumNano: Nano,
})
export type ManifestFile = z.infer<typeof File>

/**
 * The manifest of an archived month. It names the month's first and last ledger entry, and for each file of the month
 * its name, its number of lines, its hash and its sum. The manifest is `<month>.manifest.json`, in the same folder as
 * the files.
 */
export const Manifest = z.strictObject({
  format: z.literal(1),
  month: z.string().regex(/^\d{4}-\d{2}$/),
  /** The first and the last number of the ledger's entries. */
  firstSeq: z.string(),
  lastSeq: z.string(),
  /** The hash of the seals' chain before the first entry and after the last one. */
  chainBefore: Hash,
  chainAfter: Hash,
  files: z.strictObject({ ledger: File, usage: File, reservations: File }),
})
export type Manifest = z.infer<typeof Manifest>

export const manifestName = (month: string): string => `${month}.manifest.json`

export const fileName = (month: string, part: ArchivePart): string => `${month}.${part}.jsonl.gz`

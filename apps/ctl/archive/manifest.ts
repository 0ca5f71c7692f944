import { z } from 'zod'
import type { ArchivePart } from '#libs/admin-contract/resources/archives.ts'

const Hash = z.string().regex(/^[0-9a-f]{64}$/)
const Nano = z.string().regex(/^\d+$/)

const File = z.strictObject({
  /** Beside the manifest. */
  name: z.string().regex(/^[\w.-]+$/),
  lines: z.int().min(0),
  /** Of the lines with their ends, uncompressed. */
  sha256: Hash,
  /** Of the ledger's entries; of the costs of usage; of the reserved amounts. */
  sumNano: Nano,
})
export type ManifestFile = z.infer<typeof File>

/** The contents of the files of an archived month, as `<month>.manifest.json` beside them. */
export const Manifest = z.strictObject({
  format: z.literal(1),
  month: z.string().regex(/^\d{4}-\d{2}$/),
  /** Of the ledger's entries, both inclusive. */
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

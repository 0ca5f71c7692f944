import { join } from 'node:path'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { ArchivePart, type LedgerMonth } from '#libs/admin-contract/resources/archives.ts'
import { parseAnswer, type Admin } from '../admin.ts'
import { CommandError } from '../command-error.ts'
import { fileName, manifestName, type Manifest, type ManifestFile } from './manifest.ts'
import { readLines, writeLines, writeWhole } from './month-file.ts'
import { createTally, type Tally } from './tally.ts'
import { verifyMonth } from './verify-month.ts'

/** Billing compares the files with the database before it answers, so it sends nothing for minutes. */
const SILENCE_MS = 11 * 60_000

/**
 * Writes the files of a month, reads them again, and then lets billing remove the month from the database. Billing
 * removes the month in one transaction, after the files and their manifest are on the disk. If a call is interrupted
 * before the removal, it can be repeated, and then writes all files again. Throws a CommandError.
 */
export async function archiveMonth(
  admin: Admin,
  month: LedgerMonth,
  { folder, reason }: { folder: string; reason: string },
): Promise<LedgerMonth> {
  const { chainBefore, chainAfter } = month
  if (chainBefore === null || chainAfter === null) {
    throw new CommandError('refused', `${month.month} is not sealed to its end.`)
  }
  const write = async (part: ArchivePart) => {
    const name = fileName(month.month, part)
    const path = join(folder, name)
    await asFailure(path, async () => {
      await writeLines(path, await admin.open(ADMIN.exportMonth, { month: month.month, part }))
    })
    const tally = createTally(part, { chain: chainBefore, reached: BigInt(month.firstSeq) - 1n })
    await asFailure(path, async () => await readLines(path, tally.add))
    const read = tally.end()
    if (part === 'ledger') assertSealed(month, read)
    return toFile(name, read)
  }
  const manifest: Manifest = {
    format: 1,
    month: month.month,
    firstSeq: month.firstSeq,
    lastSeq: month.lastSeq,
    chainBefore,
    chainAfter,
    files: {
      ledger: await write('ledger'),
      usage: await write('usage'),
      reservations: await write('reservations'),
    },
  }
  const path = join(folder, manifestName(month.month))
  await asFailure(path, async () => await writeWhole(path, `${JSON.stringify(manifest, null, 2)}\n`))
  const { problems } = await verifyMonth(path)
  if (problems.length > 0) throw new CommandError('refused', `${problems.join('. ')}.`)
  const body = { month: month.month, files: toDigests(manifest), reason }
  const answer = await admin.ask(ADMIN.archiveMonth, body, { silenceMs: SILENCE_MS })
  return parseAnswer(ADMIN.archiveMonth.answer, answer)
}

/** Returns true if the files of a manifest match the files that billing has recorded for an archived month. */
export function isArchiveOf({ files }: LedgerMonth, manifest: Manifest): boolean {
  const digests = toDigests(manifest)
  return ArchivePart.options.every((part) => {
    return files?.[part].sha256 === digests[part].sha256 && files[part].lines === digests[part].lines
  })
}

function toDigests({ files }: Manifest) {
  const digest = ({ lines, sha256 }: ManifestFile) => ({ lines, sha256 })
  return {
    ledger: digest(files.ledger),
    usage: digest(files.usage),
    reservations: digest(files.reservations),
  }
}

function toFile(name: string, { lines, sha256, sumNano }: Tally): ManifestFile {
  return { name, lines, sha256, sumNano }
}

function assertSealed({ month, lastSeq, chainAfter }: LedgerMonth, read: Tally): void {
  if (read.lastSeq.toString() === lastSeq && read.chain === chainAfter) return
  throw new CommandError('refused', `The ledger of ${month} is not as it was sealed.`)
}

/**
 * Runs `work`, which writes or reads the file `path`. Throws a CommandError if the file cannot be written or read, if
 * billing sends only a part of the lines, or if a line is wrong. In all these cases billing has not removed the month.
 */
async function asFailure(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof CommandError) throw error
    const problem = error instanceof Error ? error.message : String(error)
    throw new CommandError('refused', `${path} was not written (${problem}); nothing was removed.`, {
      cause: error,
    })
  }
}

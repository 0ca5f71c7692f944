import { createHash } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { ArchivePart, type ArchivedFiles, type LedgerMonth } from '#libs/admin-contract/resources/archives.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { implementChange, implementExport, implementRead, type AdminContext } from '../implement.ts'
import { readMonthLines } from '../month-lines.ts'
import { readMonths } from '../../books/read-months.ts'

/** The limit of one statement that reads a whole month. */
const LIMIT_MS = 10 * 60_000

const listMonths = implementRead(ADMIN.listMonths, async (_asked, { db, now, keepMonths }) => ({
  data: await readMonths(db, { keepMonths, now }),
}))

const exportMonth = implementExport(
  ADMIN.exportMonth,
  async ({ query: { month, part } }, { db, now, keepMonths }) => {
    const found = await findMonth(db, month, { keepMonths, now })
    if (found.state === 'archived') throw new AdminError('not_found', `${month} is archived.`)
    return { contentType: 'application/jsonl', parts: readMonthLines(db, month, part) }
  },
)

const archiveMonth = implementChange(
  ADMIN.archiveMonth,
  async ({ body: { month, files, reason } }, { db, now, keepMonths }) => {
    const months = await readMonths(db, { keepMonths, now })
    const before = pick(months, month)
    if (before.state === 'archived') {
      if (isSame(before.files, files)) return { answer: before, audit: null }
      throw new AdminError('conflict', `${month} is archived, and its files were others.`)
    }
    if (before.problem !== null) throw new AdminError('conflict', `${month}: ${before.problem}.`)
    const oldest = months.find(({ state }) => state !== 'archived')?.month
    if (oldest !== month)
      throw new AdminError('conflict', `${oldest} is older than ${month}, and comes first.`)
    await sql`select set_config('statement_timeout', ${`${LIMIT_MS}ms`}, true)`.execute(db)
    for (const part of ArchivePart.options) await assertSame(db, month, { part, file: files[part] })
    await sql`select from archive_month(month => ${`${month}-01`}::date, keep => ${keepMonths},
      files => ${JSON.stringify(files)}::jsonb, since => ${now}, at => ${now})`.execute(db)
    const answer = await findMonth(db, month, { keepMonths, now })
    return { answer, audit: { target: month, reason, details: { ...files, chainAfter: answer.chainAfter } } }
  },
)

export const ARCHIVE_OPERATIONS = { listMonths, exportMonth, archiveMonth }

async function findMonth(
  db: Kysely<Tables>,
  month: string,
  options: Pick<AdminContext, 'keepMonths' | 'now'>,
): Promise<LedgerMonth> {
  return pick(await readMonths(db, options), month)
}

function pick(months: readonly LedgerMonth[], month: string): LedgerMonth {
  const found = months.find((candidate) => candidate.month === month)
  if (found === undefined) throw new AdminError('not_found', `There is no ended month ${month}.`)
  return found
}

/** Throws an AdminError if a file's lines differ from the lines in the database. */
async function assertSame(
  db: Kysely<Tables>,
  month: string,
  { part, file }: { part: ArchivePart; file: ArchivedFiles[ArchivePart] },
): Promise<void> {
  const hash = createHash('sha256')
  let lines = 0
  for await (const text of readMonthLines(db, month, part)) {
    hash.update(text)
    lines += text.split('\n').length - 1
  }
  const sha256 = hash.digest('hex')
  if (sha256 === file.sha256 && lines === file.lines) return
  throw new AdminError(
    'conflict',
    `The file of ${part} is not what the database has: ${file.lines} lines, ${file.sha256}; in the database ${lines} lines, ${sha256}.`,
  )
}

function isSame(one: ArchivedFiles | null, other: ArchivedFiles): boolean {
  return ArchivePart.options.every((part) => {
    return one?.[part].sha256 === other[part].sha256 && one[part].lines === other[part].lines
  })
}

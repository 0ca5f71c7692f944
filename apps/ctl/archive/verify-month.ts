import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ArchivePart } from '#libs/admin-contract/resources/archives.ts'
import { CommandError } from '../command-error.ts'
import { Manifest } from './manifest.ts'
import { readLines } from './month-file.ts'
import { createTally } from './tally.ts'

export type VerifiedMonth = {
  readonly manifest: Manifest
  /** Sentences that each describe a mismatch; empty if all files match the manifest. */
  readonly problems: readonly string[]
  /** The lines about the given request, by file. */
  readonly found: Readonly<Record<ArchivePart, readonly unknown[]>>
}

/**
 * Reads the files in the manifest's folder, and compares the lines, the hash and the sum of each file with the
 * manifest. Of the ledger's file, it also compares the chain of hashes and the number of the last entry. Each mismatch
 * becomes an entry of `problems`. `found` has the lines that contain the id `request`. Throws a CommandError for a
 * manifest that cannot be read.
 */
export async function verifyMonth(path: string, request?: string): Promise<VerifiedMonth> {
  const manifest = await readManifest(path)
  const problems: string[] = []
  const found: Record<ArchivePart, unknown[]> = { ledger: [], usage: [], reservations: [] }
  for (const part of ArchivePart.options) {
    const file = manifest.files[part]
    const tally = createTally(part, {
      chain: manifest.chainBefore,
      reached: BigInt(manifest.firstSeq) - 1n,
    })
    try {
      await readLines(join(dirname(path), file.name), (line) => {
        tally.add(line)
        if (request !== undefined && line.includes(request)) found[part].push(JSON.parse(line))
      })
    } catch (error) {
      problems.push(`${file.name} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      continue
    }
    const { lines, sha256, sumNano, chain, lastSeq } = tally.end()
    if (lines !== file.lines) problems.push(`${file.name} has ${lines} lines, expected ${file.lines}`)
    if (sha256 !== file.sha256) problems.push(`${file.name} has the hash ${sha256}, expected ${file.sha256}`)
    if (sumNano !== file.sumNano)
      problems.push(`${file.name} adds up to ${sumNano}, expected ${file.sumNano}`)
    if (part !== 'ledger') continue
    if (chain !== manifest.chainAfter) problems.push(`${file.name} is not as it was sealed`)
    if (lastSeq.toString() !== manifest.lastSeq) problems.push(`${file.name} ends with entry ${lastSeq}`)
  }
  return { manifest, problems, found }
}

async function readManifest(path: string): Promise<Manifest> {
  try {
    return Manifest.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    throw new CommandError('refused', `${path} is no manifest of an archived month that can be read.`, {
      cause: error,
    })
  }
}

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findExecutable } from '#scripts/servers/find-executable.ts'
import { lastErrorLine } from '#scripts/servers/last-error-line.ts'
import { RELEASE, toUnpackedProgram, unpackDebianPackages, type UnpackedProgram } from './debian-packages.ts'
import { TOOLS } from './local-servers.ts'

const run = promisify(execFile)

export type PgBouncerProgram = UnpackedProgram

/** PgBouncer 1.21 is the first version that keeps named statements apart in transaction mode. */
const OLDEST = [1, 21] as const

/** The packages of the Debian release for PgBouncer and its libraries. */
const PACKAGES = [
  'pgbouncer',
  'libaudit1',
  'libc6',
  'libcap-ng0',
  'libcap2',
  'libcares2',
  'libevent-2.1-7t64',
  'libpam0g',
  'libssl3t64',
  'libsystemd0',
  'libzstd1',
  'zlib1g',
]

/**
 * Returns PgBouncer 1.21 or later: the PgBouncer on the PATH, else the PgBouncer that an earlier call downloaded into
 * the tools folder, else the PgBouncer of a Debian release. The Debian packages are unpacked in the tools folder with
 * their libraries, so PgBouncer also runs on a system that is older than the release. If none of these can be used,
 * returns the reason.
 */
export async function ensurePgBouncer(): Promise<PgBouncerProgram | { readonly missing: string }> {
  const found = findExecutable('pgbouncer')
  if (found !== undefined && (await isNewEnough({ command: found, args: [] })))
    return { command: found, args: [] }
  const folder = join(TOOLS, `pgbouncer-${RELEASE}`)
  const needs = ['apt-get', 'dpkg-deb'].filter((name) => findExecutable(name) === undefined)
  if (!existsSync(folder) && needs.length > 0) {
    return { missing: `there is no PgBouncer 1.21 or later, and no ${needs.join(' and ')} to fetch it` }
  }
  try {
    if (!existsSync(folder)) await unpackDebianPackages(folder, PACKAGES)
    const program = toUnpackedProgram(folder, 'usr/sbin/pgbouncer')
    if (await isNewEnough(program)) return program
    return { missing: `the PgBouncer in ${folder} does not run` }
  } catch (error) {
    return {
      missing: `there is no PgBouncer 1.21 or later, and it cannot be fetched: ${lastErrorLine(error)}`,
    }
  }
}

async function isNewEnough({ command, args }: PgBouncerProgram): Promise<boolean> {
  const { stdout } = await run(command, [...args, '--version']).catch(() => ({ stdout: '' }))
  const [, major = 0, minor = 0] = (/^PgBouncer (\d+)\.(\d+)/.exec(stdout) ?? []).map(Number)
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

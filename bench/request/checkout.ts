import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { REPOSITORY } from '#scripts/servers/start-app.ts'

export type Checkout = { readonly root: string; remove(): void }

/** The files made by an installation, which the checkout of the other commit shares. */
const SHARED = ['node_modules', '.millrace']

/** Puts the files of another commit into a temporary folder, ready to run with this checkout's dependencies. */
export function openCheckout(commit: string): Checkout {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-checkout-'))
  const root = join(folder, 'files')
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', REPOSITORY, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  const remove = () => {
    if (existsSync(root)) git('worktree', 'remove', '--force', root)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    git('worktree', 'add', '--quiet', '--detach', root, commit)
    for (const name of SHARED)
      if (existsSync(join(REPOSITORY, name))) symlinkSync(join(REPOSITORY, name), join(root, name))
    const locks = [REPOSITORY, root].map((place) => readFileSync(join(place, 'package-lock.json'), 'utf8'))
    if (locks[0] !== locks[1])
      console.error(`${commit} has other dependencies in its package-lock.json; it runs with this checkout's`)
    return { root, remove }
  } catch (error) {
    remove()
    throw error
  }
}

import { expect, test } from 'vitest'
import { z } from 'zod'
import { sourceFiles } from './source-files.ts'

const LockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      link: z.boolean().optional(),
      integrity: z.string().optional(),
      resolved: z.string().optional(),
    }),
  ),
})

const LOCK_FILES = [
  ...sourceFiles('package-lock.json'),
  ...sourceFiles('{apps,libs,scripts,bench,test,deploy}/**/package-lock.json'),
].map(({ path, text }) => ({ path, packages: LockFile.parse(JSON.parse(text)).packages }))

/** Returns all packages but the repository itself. */
const packagesOf = ({ packages }: (typeof LOCK_FILES)[number]) =>
  Object.entries(packages).filter(([name, { link }]) => name !== '' && link !== true)

// npm leaves the hash out for packages of other platforms when it writes a lock file from a folder of installed
// packages.
test.each(LOCK_FILES)('$path pins every package by its hash, those of other platforms too', (file) => {
  const packages = packagesOf(file)
  expect(packages.length).toBeGreaterThan(0)
  const unpinned = packages.filter(
    ([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''),
  )
  expect(unpinned.map(([name]) => name)).toEqual([])
})

test.each(LOCK_FILES)('$path names no registry', (file) => {
  expect(packagesOf(file).filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
})

test('workflows name actions by their commit: a tag can be moved', () => {
  const used = sourceFiles('.github/workflows/*.yml').flatMap(({ text }) =>
    [...text.matchAll(/\buses: *(\S+)/g)].map(([, action = '']) => action),
  )
  expect(used.length).toBeGreaterThan(0)
  expect(used.filter((action) => !/^[\w./-]+@[0-9a-f]{40}$/.test(action))).toEqual([])
})

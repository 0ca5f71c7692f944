import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const FORBIDDEN = [
  'Date.now()',
  "Date['now']()",
  'globalThis.Date.now()',
  '[1].map(Date.now)',
  'new Date()',
  'Date()',
  'Date(0)',
  'performance.timeOrigin',
  'Temporal.Now.instant()',
]
const ALLOWED = [
  'new Date(0)',
  "new Date('2030-01-01')",
  "Date.parse('2030-01-01')",
  'Date.UTC(2030)',
  'performance.now()',
]

/** Returns the lines of `expressions` that this repository's linter refuses. */
function lint(expressions: readonly string[]): number[] {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-lint-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'clocks.ts')
  writeFileSync(
    file,
    expressions.map((expression, at) => `export const value${at} = ${expression}\n`).join(''),
  )
  const { stdout } = spawnSync(
    process.execPath,
    ['node_modules/oxlint/bin/oxlint', '-c', '.oxlintrc.json', '--format', 'unix', file],
    { encoding: 'utf8' },
  )
  const lines = stdout.matchAll(/clocks\.ts:(\d+):\d+: The wall clock/g)
  return Array.from(lines, ([, line]) => Number(line)).toSorted((a, b) => a - b)
}

test('the linter refuses every way to read the wall clock', () => {
  expect(lint(FORBIDDEN)).toEqual(FORBIDDEN.map((_, at) => at + 1))
})

test('dates that are given are no clock', () => {
  expect(lint([...ALLOWED, 'Date.now()'])).toEqual([ALLOWED.length + 1])
})

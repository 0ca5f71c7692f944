import { expect, test } from 'vitest'
import { COMMANDS } from '#apps/ctl/commands.ts'
import { fieldOf } from '#apps/ctl/fields.ts'
import { formatHelp } from '#apps/ctl/help.ts'
import { parseCommandLine } from '#apps/ctl/parse-command-line.ts'

test('every command has examples, and each is parsed as that command', () => {
  for (const { name, examples } of COMMANDS) {
    expect(examples).not.toEqual([])
    for (const example of examples) {
      expect(example.startsWith(name)).toBe(true)
      expect(parseCommandLine(COMMANDS, toWords(example))).toMatchObject({ kind: 'run' })
    }
  }
})

test('an option is of one kind in all commands', () => {
  const kinds = COMMANDS.flatMap(({ fields }) =>
    Object.entries(fields.shape)
      .map(([name, schema]) => ({ name, kind: fieldOf(schema).kind }))
      .filter(({ kind }) => kind === 'text' || kind === 'flag'),
  )
  const byName = Map.groupBy(kinds, ({ name }) => name)
  const mixed = [...byName].filter(([, uses]) => new Set(uses.map(({ kind }) => kind)).size > 1)
  expect(byName.size).toBeGreaterThan(10)
  expect(mixed).toEqual([])
})

test('help lists all commands, those of a group, and one command with its options and examples', () => {
  const all = formatHelp(COMMANDS, [])
  for (const { name, summary } of COMMANDS) {
    expect(all).toContain(`  ${name}`)
    expect(all).toContain(summary)
  }
  const group = formatHelp(COMMANDS, ['holds'])
  expect(group).toContain('holds list')
  expect(group).not.toContain('accounts list')
  const one = formatHelp(COMMANDS, ['credits', 'topup'])
  expect(one).toContain('millrace credits topup ACCOUNT CREDITS [options]')
  expect(one).toMatch(/--reason TEXT .*\(required\)/)
  expect(one).toMatch(/--idempotency-key KEY/)
  expect(one).toContain('npx millrace credits topup')
  expect(formatHelp(COMMANDS, ['usage', 'x'])).toContain('millrace usage [options]')
})

/** Splits words as a shell does: quotes join words, and a redirection is the shell's. */
function toWords(example: string): string[] {
  const [command = ''] = example.split(' > ')
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

import type { Command } from './command.ts'
import { fieldOf, toOptionName } from './fields.ts'

const GLOBAL_OPTIONS = [
  ['--url URL', 'address of billing (default: MILLRACE_ADMIN_URL, else the npm start that runs here)'],
  [
    '--token-file FILE',
    'a file with the token (default: MILLRACE_ADMIN_TOKEN; not needed for that npm start)',
  ],
  ['--json', 'the exact answer: amounts are nano-credits (10⁻⁹ credit), as text'],
  ['--help', 'this text; after a command, its options and examples'],
] as const

const EXIT_CODES = `Exit codes: 0 success; 1 billing refused, a check failed, or no such worker is on the bus; 2 the command line is wrong;
3 billing or the bus was not reached or could not answer. Tables show credits, and times in UTC.`

/**
 * Returns the help of the command whose name is at the beginning of `words`. If there is no such command, returns the
 * help of the commands whose names begin with `words`. If there are none of these either, returns the help of all
 * commands.
 */
export function formatHelp(commands: readonly Command[], words: readonly string[]): string {
  const name = words.join(' ')
  const two = words.slice(0, 2).join(' ')
  const command = commands.find((candidate) => [two, words[0]].includes(candidate.name))
  if (command !== undefined) return formatCommand(command)
  const group = commands.filter((candidate) => candidate.name.startsWith(`${name} `))
  return formatOverview(group.length === 0 ? commands : group)
}

function formatOverview(commands: readonly Command[]): string {
  return [
    'millrace: the command line of operators, over billing, workers and the files of models.\n',
    section(
      'Commands',
      commands.map((command) => [usageOf(command), command.summary]),
    ),
    section('Options of every command', GLOBAL_OPTIONS),
    `${EXIT_CODES}\n`,
  ].join('\n')
}

function formatCommand(command: Command): string {
  const fields = Object.entries(command.fields.shape).map(([name, schema]) => ({
    name,
    isRequired: !schema.safeParse(undefined).success,
    ...fieldOf(schema),
  }))
  const lines = fields.map(({ name, kind, value, help, isRequired }): [string, string] => {
    const isOption = kind === 'text' || kind === 'flag'
    const left = isOption ? `${toOptionName(name)} ${value}`.trimEnd() : value
    return [left, isOption && isRequired ? `${help} (required)` : help]
  })
  return [
    `millrace ${usageOf(command)}\n\n${command.summary}\n`,
    ...(lines.length === 0 ? [] : [section('Arguments and options', lines)]),
    section('Options of every command', GLOBAL_OPTIONS),
    `Examples\n${command.examples.map((example) => `  npx millrace ${example}\n`).join('')}`,
  ].join('\n')
}

function usageOf({ name, fields }: Command): string {
  const values = Object.values(fields.shape).map(fieldOf)
  const places = values.flatMap(({ kind, value }) => {
    if (kind === 'argument') return [value]
    return kind === 'rest' ? [`${value}...`] : []
  })
  const hasOptions = values.some(({ kind }) => kind === 'text' || kind === 'flag')
  return [name, ...places, ...(hasOptions ? ['[options]'] : [])].join(' ')
}

function section(title: string, lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([left]) => left.length))
  return `${title}\n${lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('')}`
}

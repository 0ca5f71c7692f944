import { parseArgs, type ParseArgsConfig } from 'node:util'
import type { Command, Run } from './command.ts'
import { CommandError } from './command-error.ts'
import { fieldOf, toOptionName } from './fields.ts'

/** Options of every command. */
const GLOBAL = {
  url: { type: 'string' },
  'token-file': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies ParseArgsConfig['options']

export type CommandLine =
  /** Help on the commands whose names begin with these words. */
  | { readonly kind: 'help'; readonly words: readonly string[] }
  | {
      readonly kind: 'run'
      readonly run: Run
      readonly url: string | undefined
      readonly tokenFile: string | undefined
      readonly isJson: boolean
    }

type ParseOptions = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>

type Values = Readonly<Record<string, string | boolean | undefined>>

/** Parses the words of a command line. Throws a CommandError for words that are no valid command. */
export function parseCommandLine(commands: readonly Command[], words: readonly string[]): CommandLine {
  const { values, positionals } = parse(commands, words)
  if (values['help'] === true) return { kind: 'help', words: positionals }
  const { command, rest } = findCommand(commands, positionals)
  return {
    kind: 'run',
    run: command.prepare({ ...toArguments(command, rest), ...toOptions(command, values) }),
    url: toText(values['url']),
    tokenFile: toText(values['token-file']),
    isJson: values['json'] === true,
  }
}

/** Accepts the options of all commands, so that options may stand before the command as well as after it. */
function parse(
  commands: readonly Command[],
  words: readonly string[],
): { values: Values; positionals: string[] } {
  if (words.some((word) => /^--token(?:=|$)/.test(word))) {
    const problem = 'A token is a secret, and every user of this machine can read the arguments of a process.'
    throw new CommandError('usage', `${problem} Set MILLRACE_ADMIN_TOKEN, or give --token-file.`)
  }
  const options = Object.fromEntries(commands.flatMap(toParseOptions))
  try {
    return parseArgs({
      args: moveNegativeNumbers(words, { ...options, ...GLOBAL }),
      options: { ...options, ...GLOBAL },
      allowPositionals: true,
    })
  } catch (error) {
    // Only the first sentence of Node's message names the problem; the others give advice that does not apply here.
    const [problem = ''] = String(error instanceof Error ? error.message : error).split(/\. |\n/)
    throw new CommandError('usage', `${problem.replace(/\.$/, '')}. See millrace --help.`, { cause: error })
  }
}

/**
 * Moves an amount such as -5 behind `--`, so that it is not read as an option. No option begins with a digit. An amount
 * directly after an option that needs a value stays there, and the command line is refused. If this amount were moved
 * too, the option would take the next argument as its value.
 */
function moveNegativeNumbers(words: readonly string[], options: ParseOptions): string[] {
  if (words.includes('--')) return [...words]
  const needsValue = (word = '') => word.startsWith('--') && options[word.slice(2)]?.type === 'string'
  const isAmount = (word: string, place: number) => /^-[\d.]/.test(word) && !needsValue(words[place - 1])
  if (!words.some(isAmount)) return [...words]
  const others = words.filter((word, place) => !isAmount(word, place))
  return [...others, '--', ...words.filter(isAmount)]
}

function toParseOptions({ fields }: Command): [string, { type: 'string' | 'boolean' }][] {
  return Object.entries(fields.shape).flatMap(([name, schema]) => {
    const { kind } = fieldOf(schema)
    if (kind !== 'text' && kind !== 'flag') return []
    return [[toOptionName(name).slice(2), { type: kind === 'text' ? 'string' : 'boolean' }]]
  })
}

function findCommand(
  commands: readonly Command[],
  positionals: readonly string[],
): { command: Command; rest: readonly string[] } {
  for (const count of [2, 1]) {
    const name = positionals.slice(0, count).join(' ')
    const command = commands.find((candidate) => candidate.name === name)
    if (command !== undefined) return { command, rest: positionals.slice(count) }
  }
  throw toUnknownCommand(commands, positionals)
}

function toUnknownCommand(commands: readonly Command[], positionals: readonly string[]): CommandError {
  const [first, second] = positionals
  if (first === undefined) return new CommandError('usage', 'A command is missing. See millrace --help.')
  const isGroup = commands.some(({ name }) => name.startsWith(`${first} `))
  if (!isGroup) return new CommandError('usage', `There is no command ${first}. See millrace --help.`)
  const problem =
    second === undefined ? `${first} needs a second word` : `There is no command ${first} ${second}`
  return new CommandError('usage', `${problem}. See millrace ${first} --help.`)
}

function toArguments(command: Command, given: readonly string[]): Record<string, unknown> {
  const names = Object.entries(command.fields.shape).map(([name, schema]) => ({ name, ...fieldOf(schema) }))
  const places = names.filter(({ kind }) => kind === 'argument')
  const rest = names.find(({ kind }) => kind === 'rest')
  const extra = given.slice(places.length)
  if (rest === undefined && extra.length > 0) {
    throw new CommandError('usage', `millrace ${command.name}: ${extra.join(' ')} was not expected.`)
  }
  return {
    ...Object.fromEntries(places.map(({ name }, place) => [name, given[place]])),
    ...(rest === undefined || extra.length === 0 ? {} : { [rest.name]: extra }),
  }
}

function toOptions(command: Command, values: Values): Record<string, unknown> {
  const byOption = new Map(
    Object.keys(command.fields.shape).map((name) => [toOptionName(name).slice(2), name]),
  )
  const options: Record<string, unknown> = {}
  for (const [option, value] of Object.entries(values)) {
    if (option in GLOBAL) continue
    const name = byOption.get(option)
    if (name === undefined) {
      throw new CommandError('usage', `millrace ${command.name} has no option --${option}.`)
    }
    options[name] = value
  }
  return options
}

function toText(value: string | boolean | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

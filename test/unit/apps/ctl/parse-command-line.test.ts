import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineCommand, type Context } from '#apps/ctl/command.ts'
import { CommandError } from '#apps/ctl/command-error.ts'
import { argument, flag, readText, requiredText, restArguments, text, toNumber } from '#apps/ctl/fields.ts'
import { parseCommandLine } from '#apps/ctl/parse-command-line.ts'

const give = defineCommand({
  name: 'credits give',
  summary: 'Gives credits.',
  fields: z.strictObject({
    account: argument('ACCOUNT', 'whose'),
    credits: argument('CREDITS', 'how many'),
    reason: requiredText('TEXT', 'why'),
    idempotencyKey: text('KEY', 'once'),
    dryRun: flag('only show the changes'),
    limit: readText({ value: 'NUMBER', help: 'most' }, toNumber),
  }),
  examples: [],
  run: async (given) => ({ answer: given, text: '' }),
})

const publish = defineCommand({
  name: 'publish',
  summary: 'Publishes files.',
  fields: z.strictObject({ files: restArguments('FILE', 'which'), model: text('MODEL', 'which') }),
  examples: [],
  run: async (given) => ({ answer: given, text: '' }),
})

const COMMANDS = [give, publish]

const NO_CLUSTER: Context = {
  admin: { ask: () => Promise.reject(new Error('asked')), open: () => Promise.reject(new Error('asked')) },
  bus: {
    listWorkers: () => Promise.reject(new Error('asked')),
    drain: () => Promise.reject(new Error('asked')),
    cordon: () => Promise.reject(new Error('asked')),
    uncordon: () => Promise.reject(new Error('asked')),
  },
  consoleUrl: () => '',
  isJson: false,
  top: async () => undefined,
  chat: async () => undefined,
  write: async () => undefined,
  note: () => undefined,
}

async function parsed(...words: string[]): Promise<unknown> {
  const line = parseCommandLine(COMMANDS, words)
  if (line.kind === 'help') return line
  return (await line.run(NO_CLUSTER))?.answer
}

function refusal(...words: string[]): string {
  try {
    parseCommandLine(COMMANDS, words)
  } catch (error) {
    if (error instanceof CommandError && error.kind === 'usage') return error.message
    throw error
  }
  throw new Error('it was understood')
}

test('arguments are read by position and options by name, wherever they stand', async () => {
  const given = {
    account: 'a1',
    credits: '5',
    reason: 'invoice 17',
    idempotencyKey: 'i-17',
    dryRun: true,
    limit: 3,
  }
  const options = ['--reason', 'invoice 17', '--idempotency-key=i-17', '--dry-run', '--limit', '3']
  expect(await parsed('credits', 'give', 'a1', '5', ...options)).toEqual(given)
  expect(await parsed(...options, 'credits', 'give', 'a1', '5')).toEqual(given)
})

test('an option that is not given is undefined, and a flag is false', async () => {
  expect(await parsed('credits', 'give', 'a1', '5', '--reason', 'x')).toEqual({
    account: 'a1',
    credits: '5',
    reason: 'x',
    dryRun: false,
  })
})

test('an amount below zero is an argument', async () => {
  expect(await parsed('credits', 'give', 'a1', '-2.5', '--reason', 'x')).toMatchObject({ credits: '-2.5' })
  expect(await parsed('credits', 'give', '--reason', 'x', '--', 'a1', '-2.5')).toMatchObject({
    credits: '-2.5',
  })
})

test('a negative number behind an option is never taken for the amount', async () => {
  const given = ['credits', 'give', 'a1', '--reason', '-1', '5']
  expect(refusal(...given)).toBe("Option '--reason' argument is ambiguous. See millrace --help.")
  expect(await parsed('credits', 'give', 'a1', '--reason=-1', '5')).toMatchObject({
    credits: '5',
    reason: '-1',
  })
  expect(await parsed('credits', 'give', 'a1', '--dry-run', '-5', '--reason', 'x')).toMatchObject({
    credits: '-5',
    dryRun: true,
  })
})

test('a command may take all arguments that are left', async () => {
  expect(await parsed('publish', 'a.json', 'b.json')).toEqual({ files: ['a.json', 'b.json'] })
})

test('options of every command', () => {
  const words = ['publish', 'a.json', '--url', 'http://x:1', '--token-file', 'token', '--json']
  expect(parseCommandLine(COMMANDS, words)).toMatchObject({
    url: 'http://x:1',
    tokenFile: 'token',
    isJson: true,
  })
})

test('help is given about the words before it', async () => {
  expect(await parsed('credits', 'give', '--help')).toEqual({ kind: 'help', words: ['credits', 'give'] })
  expect(await parsed('-h')).toEqual({ kind: 'help', words: [] })
})

test.each([
  [[], 'A command is missing. See millrace --help.'],
  [['credit'], 'There is no command credit. See millrace --help.'],
  [['credits'], 'credits needs a second word. See millrace credits --help.'],
  [['credits', 'take'], 'There is no command credits take. See millrace credits --help.'],
  [['credits', 'give'], 'millrace credits give: ACCOUNT is missing'],
  [['credits', 'give', 'a1', '5'], 'millrace credits give: --reason is missing'],
  [['credits', 'give', 'a1', '5', '--reason', ''], 'millrace credits give: --reason is empty'],
  [['credits', 'give', 'a1', '5', '6', '--reason', 'x'], 'millrace credits give: 6 was not expected.'],
  [
    ['credits', 'give', 'a1', '5', '--reason', 'x', '--limit', '1e3'],
    'millrace credits give: --limit is wrong: "1e3" is not a whole number',
  ],
  [['publish'], 'millrace publish: FILE is missing'],
  [['publish', 'a.json', '--reason', 'x'], 'millrace publish has no option --reason.'],
  [['publish', 'a.json', '--nonsense'], "Unknown option '--nonsense'. See millrace --help."],
  [['publish', 'a.json', '--model'], "Option '--model <value>' argument missing. See millrace --help."],
])('%j is refused: %s', (words, message) => {
  expect(refusal(...words)).toBe(message)
})

test.each([[['--token', 'secret-token']], [['--token=secret-token']]])(
  'a token among the arguments is refused and not repeated',
  (words) => {
    const message = refusal('publish', 'a.json', ...words)
    expect(message).toContain('MILLRACE_ADMIN_TOKEN')
    expect(message).not.toContain('secret-token')
  },
)

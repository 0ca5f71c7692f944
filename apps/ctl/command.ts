import { z } from 'zod'
import { parseAnswer, type Admin, type Ask } from './admin.ts'
import { CommandError } from './command-error.ts'
import { fieldOf, text, readText, toNumber, toOptionName } from './fields.ts'
import { readPages } from './read-pages.ts'
import { formatTable, type Column } from './table.ts'

export type Context = {
  readonly admin: Admin
  readonly isJson: boolean
  /** Onto standard output, as fast as it is taken. */
  write(text: string): Promise<void>
  /** One line on standard error. */
  tell(line: string): void
}

/** What came of a command: for programs as billing answered it, for people as a text. */
export type Outcome = {
  readonly answer: unknown
  readonly text: string
  /** It was answered, and says that something is wrong. */
  readonly isBadNews?: boolean
}

/** Undefined where it has written all itself. */
export type Run = (context: Context) => Promise<Outcome | undefined>

export type Command = {
  /** One word or two. */
  readonly name: string
  readonly summary: string
  readonly fields: z.ZodObject
  /** What follows `millrace`. */
  readonly examples: readonly string[]
  /** Throws a CommandError for what is missing or wrong, before anything is asked. */
  prepare(given: Readonly<Record<string, unknown>>): Run
}

type Description<Fields extends z.ZodObject> = Omit<Command, 'fields' | 'prepare'> & {
  readonly fields: Fields
}

export function defineCommand<Fields extends z.ZodObject>(
  description: Description<Fields> & {
    run(given: z.output<Fields>, context: Context): Promise<Outcome | undefined>
  },
): Command {
  return {
    ...description,
    prepare(given) {
      const result = description.fields.safeParse(given)
      if (!result.success) throw toUsageError(description, result.error)
      return async (context) => await description.run(result.data, context)
    },
  }
}

/** A command that is one request. */
export function defineCall<Fields extends z.ZodObject, Answer extends z.ZodType>(
  description: Description<Fields> & {
    request(given: z.output<Fields>, context: Context): Ask | Promise<Ask>
    readonly answer: Answer
    show(answer: z.output<Answer>): string
    isBadNews?(answer: z.output<Answer>): boolean
  },
): Command {
  const { request, answer: schema, show, isBadNews, ...rest } = description
  return defineCommand({
    ...rest,
    async run(given, context) {
      const answer = await context.admin.ask(await request(given, context))
      const parsed = parseAnswer(schema, answer)
      return { answer, text: show(parsed), isBadNews: isBadNews?.(parsed) ?? false }
    },
  })
}

const DEFAULT_LIMIT = 50

const PAGE = {
  limit: readText({ value: 'NUMBER', help: `at most so many; ${DEFAULT_LIMIT} unless told` }, toNumber),
  cursor: text('CURSOR', 'go on where an earlier list ended'),
}

/** What was given to a list, read before. */
const Listing = z
  .object({ limit: z.number().default(DEFAULT_LIMIT), cursor: z.string().optional() })
  .catchall(z.union([z.string(), z.number(), z.boolean(), z.undefined()]))

/** A command that lists what is at `path`, page after page. Its fields are the query. */
export function defineList<Item extends z.ZodType>(
  description: Omit<Command, 'fields' | 'prepare'> & {
    readonly fields: Readonly<Record<string, z.ZodType>>
    readonly path: string
    readonly item: Item
    readonly columns: readonly Column<z.output<Item>>[]
  },
): Command {
  const { path, item, columns, fields, ...rest } = description
  return defineCommand({
    ...rest,
    fields: z.strictObject({ ...fields, ...PAGE }),
    async run(given, { admin, tell }) {
      const { limit, cursor, ...query } = Listing.parse(given)
      const answer = await readPages(admin, { path, query, limit, cursor })
      const items = parseAnswer(z.array(item), answer.data)
      if (answer.nextCursor !== null) tell(`there is more: go on with --cursor ${answer.nextCursor}`)
      return { answer, text: formatTable(columns, items) }
    },
  })
}

function toUsageError({ name, fields }: Description<z.ZodObject>, error: z.ZodError): CommandError {
  const issue = error.issues[0]
  const key = String(issue?.path[0] ?? '')
  const schema = fields.shape[key]
  if (issue === undefined || schema === undefined) return new CommandError('usage', error.message)
  const { kind, value } = fieldOf(schema)
  const isArgument = kind === 'argument' || kind === 'rest'
  const problem = `${isArgument ? value : toOptionName(key)} ${issue.message}`
  return new CommandError('usage', `millrace ${name}: ${problem}`)
}

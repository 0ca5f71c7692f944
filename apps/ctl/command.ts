import { z } from 'zod'
import type { AnswerOf, AnsweringOperation, InputOf, ReadOperation } from '#libs/admin-contract/operation.ts'
import { parseAnswer, type Admin } from './admin.ts'
import type { Bus } from './bus.ts'
import { CommandError } from './command-error.ts'
import { fieldOf, text, readText, toNumber, toOptionName } from './fields.ts'
import { fieldsOf } from './operation-fields.ts'
import { readPages } from './read-pages.ts'
import { showFields, showTable, type Shown } from './view.ts'

export type Context = {
  readonly admin: Admin
  readonly bus: Bus
  /** Returns the address of the console for browsers. Throws a CommandError if it is unknown. */
  consoleUrl(): string
  readonly isJson: boolean
  /**
   * Shows the live state of the cluster until the viewer quits. With `once`, with `isJson` or without a terminal,
   * returns the present state as an outcome instead.
   */
  top(once: boolean): Promise<Outcome | undefined>
  /** Lets the user chat with a model until the user ends the chat. */
  chat(model: string | undefined): Promise<void>
  /** Writes to standard output; resolves when more may be written. */
  write(text: string): Promise<void>
  /** Prints one line on standard error. */
  note(line: string): void
}

/** The result of a command: the answer of billing for programs, and a text for people. */
export type Outcome = {
  readonly answer: unknown
  readonly text: string
  /** True if the answer reports a problem. */
  readonly isProblem?: boolean
}

/** Runs a command. Returns undefined if the command has written its output itself. */
export type Run = (context: Context) => Promise<Outcome | undefined>

export type Command = {
  /** The command's one or two words. */
  readonly name: string
  readonly summary: string
  readonly fields: z.ZodObject
  /** The words after `millrace` on the command line. */
  readonly examples: readonly string[]
  /** Throws a CommandError for a missing or wrong field, before any request is sent. */
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

/**
 * The fields that a command defines itself. Each of them replaces the field with the same name in the input of the
 * command's operation (`libs/admin-contract/`). Billing validates their values.
 */
type OwnFields<Input> = { readonly [Name in keyof Input]?: z.ZodType<Loose<Input[Name]>> }

type Loose<Value> = Value extends string
  ? string | number | boolean
  : Value extends object
    ? { [Name in keyof Value]: Loose<Value[Name]> }
    : Value

type Named<Op extends AnsweringOperation> = Omit<Command, 'fields' | 'prepare' | 'summary'> & {
  readonly operation: Op
  /** Default: the operation's own summary. */
  readonly summary?: string
  /** The fields that are given by position, after the fields in the operation's path. */
  readonly places?: readonly Extract<keyof InputOf<Op>, string>[]
  /** Default: the fields that `fieldsOf` makes from the operation. */
  readonly fields?: OwnFields<InputOf<Op>>
}

/** Defines a command that calls one operation with its fields. */
export function defineCall<Op extends AnsweringOperation>(
  description: Named<Op> & {
    readonly silenceMs?: number
    /** The parts of the answer that are shown, or a function that returns the whole text. */
    readonly show: readonly Shown<AnswerOf<Op>>[] | ((answer: AnswerOf<Op>) => string)
    isProblem?(answer: AnswerOf<Op>): boolean
  },
): Command {
  const { operation, places, fields, silenceMs, show, isProblem, ...rest } = description
  return defineCommand({
    summary: operation.summary,
    ...rest,
    fields: z.strictObject(fieldsOf(operation, { places, own: fields })),
    async run(given, { admin }) {
      const answer = await admin.ask(operation, given, silenceMs === undefined ? {} : { silenceMs })
      return toOutcome(operation, answer, { show, isProblem })
    },
  })
}

/**
 * Returns the outcome of a command that shows one answer. Throws a CommandError for an answer that does not match the
 * contract.
 */
export function toOutcome<Op extends AnsweringOperation>(
  operation: Op,
  answer: unknown,
  {
    show,
    isProblem = () => false,
  }: {
    show: readonly Shown<AnswerOf<Op>>[] | ((answer: AnswerOf<Op>) => string)
    isProblem?: ((answer: AnswerOf<Op>) => boolean) | undefined
  },
): Outcome {
  const parsed = parseAnswer<Op['answer']>(operation.answer, answer)
  const text = typeof show === 'function' ? show(parsed) : showFields(operation.answer, show, parsed)
  return { answer, text, isProblem: isProblem(parsed) }
}

const DEFAULT_LIMIT = 50

const PAGE = {
  limit: readText({ value: 'NUMBER', help: `how many at most; default ${DEFAULT_LIMIT}` }, toNumber),
  cursor: text('CURSOR', 'continue after an earlier list'),
}

/** The fields of a list, which have been parsed. */
const Listing = z.looseObject({
  limit: z.number().default(DEFAULT_LIMIT),
  cursor: z.string().optional(),
})

type ListOperation = ReadOperation & {
  readonly answer: z.ZodObject<{ data: z.ZodArray<z.ZodObject>; nextCursor: z.ZodType<string | null> }>
}

/** Defines a command that lists the items of an operation, page after page. */
export function defineList<Op extends ListOperation>(
  description: Named<Op> & { readonly shown: readonly Shown<AnswerOf<Op>['data'][number]>[] },
): Command {
  const { operation, places, fields, shown, ...rest } = description
  return defineCommand({
    summary: operation.summary,
    ...rest,
    fields: z.strictObject(fieldsOf(operation, { places, own: { ...fields, ...PAGE } })),
    async run(given, { admin, note }) {
      const { limit, cursor, ...query } = Listing.parse(given)
      const answer = await readPages(admin, { operation, query, limit, cursor })
      const { data } = parseAnswer<Op['answer']>(operation.answer, answer)
      if (answer.nextCursor !== null) note(`there is more: continue with --cursor ${answer.nextCursor}`)
      return { answer, text: showTable(operation.answer.shape.data.element, shown, data) }
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

import { z } from 'zod'
import type { AdminErrorCode } from './admin-errors.ts'
import type { Role } from './roles.ts'

/** What every operation has. A field of a request that is in none of the three schemas is refused. */
type Described = {
  /** Below `/admin/v1`, with the names of its parameters in braces. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  /** The roles that may call it. */
  readonly roles: readonly Role[]
  /** The parameters in the path. */
  readonly params: z.ZodObject
  readonly query: z.ZodObject
  readonly body: z.ZodType
  /** Besides those that every operation, or every change, can answer with. */
  readonly errors: readonly AdminErrorCode[]
}

/** Changes nothing. */
export type ReadOperation = Described & {
  readonly kind: 'read'
  readonly method: 'GET'
  readonly answer: z.ZodType
}

/** Is written to the audit log, in the transaction of the change. */
export type ChangeOperation = Described & {
  readonly kind: 'change'
  readonly method: 'POST' | 'PATCH'
  readonly status: 200 | 201
  readonly answer: z.ZodType
}

/** Answers with any number of lines. */
export type ExportOperation = Described & {
  readonly kind: 'export'
  readonly method: 'GET'
  /** The schema of one line, by content type. */
  readonly lines: Readonly<Record<string, z.ZodType>>
}

export type AnsweringOperation = ReadOperation | ChangeOperation
export type Operation = AnsweringOperation | ExportOperation

/**
 * The input of an operation, in one object: the names in path, query and body never collide. A GET has no body, so
 * everything outside the path is its query.
 */
export type InputOf<Op extends Operation> = Flat<
  FieldsOf<Op['params']> & FieldsOf<Op['query']> & FieldsOf<Op['body']>
>

/** The parsed answer. */
export type AnswerOf<Op extends AnsweringOperation> = z.output<Op['answer']>

/** An empty object schema has an index signature, which would make every other field of an input `never`. */
type FieldsOf<Schema extends z.ZodType> = string extends keyof z.input<Schema> ? unknown : z.input<Schema>

type Flat<Fields> = { [Name in keyof Fields]: Fields[Name] }

const DEFAULTS = {
  params: z.strictObject({}),
  query: z.strictObject({}),
  body: z.strictObject({}),
  errors: [],
} as const

type Defaults = typeof DEFAULTS

/** An operation as it is written down, without the fields that are at their defaults. */
type Short<Op, Fixed> = Omit<Op, keyof Defaults | keyof Fixed> & Partial<Pick<Op, keyof Defaults & keyof Op>>

type Complete<Given, Fixed> = Flat<Omit<Defaults & Fixed, keyof Given> & Given>

const READ = { kind: 'read', method: 'GET' } as const
const CHANGE = { kind: 'change', status: 200 } as const
const EXPORT = { kind: 'export', method: 'GET' } as const

export function defineRead<const Given extends Short<ReadOperation, typeof READ>>(
  given: Given,
): Complete<Given, typeof READ>
export function defineRead(given: Short<ReadOperation, typeof READ>): ReadOperation {
  return { ...DEFAULTS, ...READ, ...given }
}

/** `status` is 200 unless given. */
export function defineChange<
  const Given extends Short<ChangeOperation, typeof CHANGE> & Partial<Pick<ChangeOperation, 'status'>>,
>(given: Given): Complete<Given, typeof CHANGE>
export function defineChange(given: Short<ChangeOperation, typeof CHANGE>): ChangeOperation {
  return { ...DEFAULTS, ...CHANGE, ...given }
}

export function defineExport<const Given extends Short<ExportOperation, typeof EXPORT>>(
  given: Given,
): Complete<Given, typeof EXPORT>
export function defineExport(given: Short<ExportOperation, typeof EXPORT>): ExportOperation {
  return { ...DEFAULTS, ...EXPORT, ...given }
}

import { z } from 'zod'

/** The fields of every operation. */
type Described<Code extends string> = {
  /** The path below the root of the contract, with the names of its parameters in braces. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  /** The parameters in the path. */
  readonly params: z.ZodObject
  readonly query: z.ZodObject
  /** The headers that the operation reads; all others are ignored. */
  readonly headers: z.ZodObject
  readonly body: z.ZodType
  /**
   * The errors that the operation may answer with. Two kinds of errors may be left out here, because the OpenAPI
   * description of the whole contract (such as the admin contract) adds them: errors that all operations of the
   * contract share, and errors that all its change operations share.
   */
  readonly errors: readonly Code[]
}

/** An operation that changes nothing. */
export type ReadOperation<Code extends string = string> = Described<Code> & {
  readonly kind: 'read'
  readonly method: 'GET'
  readonly answer: z.ZodType
}

/** An operation that changes something. The audit log records it in the transaction of the change. */
export type ChangeOperation<Code extends string = string> = Described<Code> & {
  readonly kind: 'change'
  readonly method: 'POST' | 'PATCH' | 'DELETE'
  readonly status: 200 | 201
  readonly answer: z.ZodType
}

/** An operation that answers with any number of lines. */
export type ExportOperation<Code extends string = string> = Described<Code> & {
  readonly kind: 'export'
  readonly method: 'GET'
  /** The schema of one line, by content type. */
  readonly lines: Readonly<Record<string, z.ZodType>>
}

export type AnsweringOperation<Code extends string = string> = ReadOperation<Code> | ChangeOperation<Code>
export type Operation<Code extends string = string> = AnsweringOperation<Code> | ExportOperation<Code>

/**
 * The input of an operation in one object. The names in path, query and body never collide. A GET has no body, so each
 * field of its input is either in the path or in the query.
 */
export type InputOf<Op extends Operation> = Flat<
  FieldsOf<Op['params']> & FieldsOf<Op['query']> & FieldsOf<Op['body']>
>

/** The parsed answer of an operation. */
export type AnswerOf<Op extends AnsweringOperation> = z.output<Op['answer']>

/** An empty object schema has an index signature, which would make every other field of an input `never`. */
type FieldsOf<Schema extends z.ZodType> = string extends keyof z.input<Schema> ? unknown : z.input<Schema>

type Flat<Fields> = { [Name in keyof Fields]: Fields[Name] }

const DEFAULTS = {
  params: z.strictObject({}),
  query: z.strictObject({}),
  headers: z.object({}),
  body: z.strictObject({}),
  errors: [],
} as const

type Defaults = typeof DEFAULTS

/** The definition of an operation, without the fields that have their default values. */
type Short<Op, Fixed> = Omit<Op, keyof Defaults | keyof Fixed> & Partial<Pick<Op, keyof Defaults & keyof Op>>

type Complete<Given, Fixed> = Flat<Omit<Defaults & Fixed, keyof Given> & Given>

const READ = { kind: 'read', method: 'GET' } as const
const CHANGE = { kind: 'change', status: 200 } as const
const EXPORT = { kind: 'export', method: 'GET' } as const

/**
 * Returns the functions that define the operations of one HTTP contract, such as the admin contract. `Own` has the
 * fields that only the operations of this contract have.
 */
export function defineOperations<Code extends string, Own extends object>() {
  type Read = ReadOperation<Code> & Own
  type Change = ChangeOperation<Code> & Own
  type Export = ExportOperation<Code> & Own

  function defineRead<const Given extends Short<Read, typeof READ>>(
    given: Given,
  ): Complete<Given, typeof READ>
  function defineRead(given: Short<Read, typeof READ>): object {
    return { ...DEFAULTS, ...READ, ...given }
  }

  /** `status` is 200 by default. */
  function defineChange<
    const Given extends Short<Change, typeof CHANGE> & Partial<Pick<ChangeOperation, 'status'>>,
  >(given: Given): Complete<Given, typeof CHANGE>
  function defineChange(given: Short<Change, typeof CHANGE>): object {
    return { ...DEFAULTS, ...CHANGE, ...given }
  }

  function defineExport<const Given extends Short<Export, typeof EXPORT>>(
    given: Given,
  ): Complete<Given, typeof EXPORT>
  function defineExport(given: Short<Export, typeof EXPORT>): object {
    return { ...DEFAULTS, ...EXPORT, ...given }
  }

  return { defineRead, defineChange, defineExport }
}

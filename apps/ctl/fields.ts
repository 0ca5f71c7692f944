import { z } from 'zod'

/**
 * The form in which a user gives a field of a command. An argument is given by its position, in the order of the
 * fields. Any other field is given as `--name`, with the field's name in kebab-case.
 */
export type Field = {
  readonly kind: 'argument' | 'rest' | 'text' | 'flag'
  /** The placeholder of the value in a help text. */
  readonly value: string
  readonly help: string
}

const fields = z.registry<Field>()

/**
 * Returns the field of a schema. Throws for a schema that was not made by a function below, which is a bug of the
 * command.
 */
export function fieldOf(schema: z.core.$ZodType): Field {
  const field = fields.get(schema)
  if (field === undefined) throw new Error('a field of a command was not made by a function of fields.ts')
  return field
}

const Text = z.string('is missing').min(1, 'is empty')

export function argument(value: string, help: string) {
  return Text.clone().register(fields, { kind: 'argument', value, help })
}

/** Makes the last argument, which may be left out. */
export function optionalArgument(value: string, help: string) {
  return Text.optional().register(fields, { kind: 'argument', value, help })
}

/** Makes the remaining arguments, at least one. */
export function restArguments(value: string, help: string) {
  return z.array(Text, 'is missing').register(fields, { kind: 'rest', value, help })
}

export function text(value: string, help: string) {
  return Text.optional().register(fields, { kind: 'text', value, help })
}

export function requiredText(value: string, help: string) {
  return Text.clone().register(fields, { kind: 'text', value, help })
}

export function flag(help: string) {
  return z.boolean().default(false).register(fields, { kind: 'flag', value: '', help })
}

/** Makes an option whose text is converted. `read` throws a RangeError for a text that it cannot read. */
export function readText<Value>(option: { value: string; help: string }, read: (text: string) => Value) {
  return toRead(read)
    .optional()
    .register(fields, { kind: 'text', ...option })
}

export function readRequiredText<Value>(
  option: { value: string; help: string },
  read: (text: string) => Value,
) {
  return toRead(read).register(fields, { kind: 'text', ...option })
}

function toRead<Value>(read: (text: string) => Value) {
  return Text.transform((given, context) => {
    try {
      return read(given)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      context.addIssue({ code: 'custom', message: `is wrong: ${error.message}` })
      return z.NEVER
    }
  })
}

/** Reads `none` as null, and any other text by `read`. */
export function orNone<Value>(read: (text: string) => Value): (text: string) => Value | null {
  return (given) => (given === 'none' ? null : read(given))
}

/** Reads a whole number. Throws a RangeError for other text. */
export function toNumber(given: string): number {
  if (/^\d{1,15}$/.test(given)) return Number(given)
  throw new RangeError(`${JSON.stringify(given)} is not a whole number`)
}

export const REASON = text('TEXT', 'why, for the audit log')
export const REQUIRED_REASON = requiredText('TEXT', 'why, for the audit log')

/** Returns the field's name as it is written on the command line. */
export function toOptionName(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

import { z } from 'zod'
import type { AnsweringOperation } from '#libs/admin-contract/operation.ts'
import { describeField, type DescribedField } from './describe-field.ts'
import { wordsOf } from './field-words.ts'
import { argument, orNone, readRequiredText, readText, toNumber } from './fields.ts'

/** Fields of a command by the names of the operation's input. */
type Fields = Readonly<Record<string, z.ZodType>>

type OwnFields = Readonly<Record<string, z.ZodType | undefined>>

/**
 * Returns the fields of a command that calls `operation`. The fields in the operation's path and in `places` are given
 * by position, all others as options. The help texts are the descriptions in the operation's contract
 * (`libs/admin-contract/`). The fields in `own` replace the fields made here. Throws for a field that the contract does
 * not describe, and for an option whose type cannot be given as text. These errors are bugs in the contract or in the
 * command.
 */
export function fieldsOf(
  { params, query, body }: AnsweringOperation,
  { places = [], own = {} }: { places?: readonly string[] | undefined; own?: OwnFields | undefined },
): Fields {
  const input = { ...params.shape, ...query.shape, ...(body instanceof z.ZodObject ? body.shape : {}) }
  const byPosition = new Set([...Object.keys(params.shape), ...places])
  return Object.fromEntries(
    Object.entries<z.ZodType>(input).map(([name, field]) => [
      name,
      own[name] ?? toField(name, describeField(field), byPosition.has(name)),
    ]),
  )
}

function toField(name: string, field: DescribedField, isPlace: boolean): z.ZodType {
  const option = { value: toPlaceholder(name, field), help: toHelp(name, field) }
  if (isPlace) return argument(option.value, option.help)
  const read = toReader(name, field)
  return field.isRequired ? readRequiredText(option, read) : readText(option, read)
}

/** The placeholder and an example for a field of each format. */
const FORMATS: Readonly<Record<string, { readonly placeholder: string; readonly example: string }>> = {
  'date-time': { placeholder: 'TIME', example: 'such as 2030-01-01T00:00:00Z' },
  date: { placeholder: 'DAY', example: 'such as 2030-01-01' },
}

/**
 * Returns the placeholder of a field's value in the help text:
 * - a whole number: MS or SECONDS if the field's name ends with this word, else NUMBER
 * - a value of one of `FORMATS`: TIME or DAY
 * - any other value: the last word of the field's name, such as KEY for `managementKey`
 */
function toPlaceholder(name: string, { type, format = '' }: DescribedField): string {
  const last = wordsOf(name).at(-1) ?? name
  if (type === 'integer') return last === 'ms' || last === 'seconds' ? last.toUpperCase() : 'NUMBER'
  return FORMATS[format]?.placeholder ?? last.toUpperCase()
}

const ALTERNATIVES = new Intl.ListFormat('en-GB', { type: 'disjunction' })

function toHelp(name: string, { type, description, options, format = '' }: DescribedField): string {
  const form = type === 'array' ? 'separated by commas' : FORMATS[format]?.example
  const phrase =
    description === undefined
      ? options && ALTERNATIVES.format(options)
      : description.replace(/\.$/, '').replace(/^./, (letter) => letter.toLowerCase())
  const parts = [phrase, form].filter((part) => part !== undefined)
  if (parts.length === 0) throw new Error(`the contract does not describe ${name}`)
  return parts.join('; ')
}

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  string: (text) => text,
  integer: toNumber,
  array: (text) => text.split(',').map((entry) => entry.trim()),
}

function toReader(name: string, { type = '', isNullable }: DescribedField): (text: string) => unknown {
  const read = READERS[type]
  if (read === undefined) throw new Error(`${name} cannot be given as a text`)
  return isNullable ? orNone(read) : read
}

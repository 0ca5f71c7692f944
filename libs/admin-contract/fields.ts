import { z } from 'zod'
import { parseCredits, toNanoCredits } from '#libs/money/nano-credits.ts'

/** Fields that several operations have. */

/** An id in lower case, as in the database, because the audit log is searched by text. */
export const Id = z.uuid().toLowerCase()

export const AccountId = Id.meta({ description: 'Id of the account.' })
export const KeyId = Id.meta({ description: 'Id of the key.' })

/** Text that PostgreSQL can store: without NUL and without half of a surrogate pair. */
export const Text = z
  .string()
  .refine(
    (text) => text.isWellFormed() && !text.includes('\0'),
    'expected text without NUL and half characters',
  )

export const Name = Text.trim().min(1).max(200)

/** The reason for an operator's change. */
export const Reason = Text.trim().min(1).max(500).meta({ description: 'Why, for the audit log.' })

export const ModelId = Text.min(1).max(200).meta({ description: 'Id of the model.' })

/** Nano-credits (10⁻⁹ credit) as text, because JSON readers round large numbers. */
export const Nano = z.string().meta({ pattern: '^-?\\d+$', example: '1500000000' })

/** A whole number as text, because JSON readers round large ones. */
export const Whole = z.string().meta({ format: 'int64', example: '42' })

/** A time in an answer. */
export const Time = z.string().meta({ format: 'date-time', example: '2030-01-01T00:00:00.000Z' })

/** A time in a request. */
export const TimeInput = z.iso.datetime({ offset: true }).transform((text) => new Date(text))

/** A day in UTC. */
export const Day = z.iso.date()

/** A whole number in a query. */
export function countIn({ min, max }: { min: number; max: number }) {
  return z
    .string()
    .transform((text, context) => {
      const number = /^\d{1,15}$/.test(text) ? Number(text) : null
      if (number !== null && number >= min && number <= max) return number
      context.addIssue({ code: 'custom', message: `expected a whole number from ${min} to ${max}` })
      return z.NEVER
    })
    .meta({ type: 'integer', minimum: min, maximum: max })
}

/** A boolean in a query. */
export const Flag = z.enum(['true', 'false']).transform((text) => text === 'true')

/** Nano-credits, more than zero. */
export const PositiveNano = toAmount(parseNano).meta({ example: '1500000000' })

/** Credits to give, either in credits or in nano-credits. */
export const POSITIVE_AMOUNT = {
  credits: toAmount(parseCredits).optional().meta({ example: '1.5' }),
  amountNano: PositiveNano.optional(),
}

/** Credits to give, or to take if the amount is below zero. */
export const SIGNED_AMOUNT = {
  credits: toAmount(signed(parseCredits)).optional().meta({ example: '-1.5' }),
  amountNano: toAmount(signed(parseNano)).optional().meta({ example: '-1500000000' }),
}

function toAmount(read: (text: string) => bigint) {
  return z
    .string()
    .max(40)
    .transform((text, context) => {
      const amount = attempt(() => read(text))
      if (amount !== undefined && amount !== 0n) return amount
      context.addIssue({ code: 'custom', message: 'expected an amount that is not zero, in digits, as text' })
      return z.NEVER
    })
}

/** Parses digits only: BigInt would also accept blanks and hexadecimals. */
function parseNano(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) throw new RangeError('not an amount of nano-credits')
  return toNanoCredits(text)
}

function signed(read: (text: string) => bigint): (text: string) => bigint {
  return (text) => (text.startsWith('-') ? -read(text.slice(1)) : read(text))
}

/** Returns undefined if `read` throws, which it does for a text that is not an amount. */
function attempt(read: () => bigint): bigint | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import { MAX_CHOICES } from '#libs/contracts/choices.ts'
import { optional } from '../../http/parse-body.ts'

const EXPECTED = `expected a whole number from 1 to ${MAX_CHOICES}`

const Choices = z.int(EXPECTED).min(1, EXPECTED).max(MAX_CHOICES, EXPECTED)

/** The fields by which a request asks for several answers to its prompt. */
export const CHOICE_FIELDS = {
  n: optional(Choices).meta({
    description: 'How many answers to the prompt to generate; the prompt is charged once. Absent: 1.',
  }),
  best_of: optional(Choices).meta({
    description: 'The same as n: every generated answer is returned.',
  }),
}

/** The number of an answer among the answers of its request. */
export const ChoiceIndex = z
  .int()
  .min(0)
  .max(MAX_CHOICES - 1)

const Fields = z.object(CHOICE_FIELDS)

/**
 * Returns how many answers a request wants; no field for one answer. Throws an `ApiError` `invalid_request` if
 * `best_of` is not `n`, so that more or fewer answers would be generated than returned.
 */
export function toChoices({ n = 1, best_of: bestOf = n }: z.output<typeof Fields>): { choices?: number } {
  if (bestOf !== n) {
    const message = `'best_of': expected the value of 'n', which is ${n}, because every answer is returned.`
    throw new ApiError('invalid_request', message, { param: 'best_of' })
  }
  return n === 1 ? {} : { choices: n }
}

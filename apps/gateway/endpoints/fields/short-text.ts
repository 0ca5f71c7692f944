import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { TEXT } from './field-texts.ts'

const MAX_LENGTH = 256

/** An id, a name or a type. The ids of other providers have some 100 characters at most. */
export const shortText = (expected: string) =>
  z.string(expected).max(MAX_LENGTH, `expected at most ${MAX_LENGTH} characters`)

export const ShortText = shortText(TEXT)

/** The id of a call. Some clients send no ids: a result then belongs to a call by its place. */
export const CallId = optional(ShortText).transform((id) => id ?? '')

import { z } from 'zod'
import { TEXT } from './field-texts.ts'

const MAX_LENGTH = 256

/** An id, a name or a type. The ids of other providers have some 100 characters at most. */
export const shortText = (expected: string) =>
  z.string(expected).max(MAX_LENGTH, `expected at most ${MAX_LENGTH} characters`)

export const ShortText = shortText(TEXT)

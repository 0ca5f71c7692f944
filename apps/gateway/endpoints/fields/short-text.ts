import { z } from 'zod'
import { TEXT } from './field-texts.ts'

const MAX_LENGTH = 256

/** An id, a name or a type. Providers' own ids have some 100 characters at most; nothing needs one of kilobytes. */
export const shortText = (expected: string) =>
  z.string(expected).max(MAX_LENGTH, `expected at most ${MAX_LENGTH} characters`)

export const ShortText = shortText(TEXT)

import { NO_TOOL } from './harmony-messages.ts'

/** Names of tools that the models of a format can write and that its parser reads as they are. */
export type NameRule = {
  readonly allows: (name: string) => boolean
  /** The end of a refusal's message. */
  readonly expected: string
}

const matching = (pattern: RegExp, expected: string): NameRule => ({
  allows: (name) => pattern.test(name),
  expected,
})

/** Names within a JSON string. Chat templates print names unchanged, so no name may need an escape. */
export const NAMES_IN_JSON = matching(
  /^[^"\\\p{Cc}]+$/u,
  'expected a name without quotation marks, backslashes and control characters',
)

/** Names between markers. */
export const BARE_NAMES = matching(
  /^[^\s{}"'<>]+$/u,
  'expected a name without blanks, quotation marks, braces and angle brackets',
)

/** Names in front of a marker in square brackets, or within a JSON string. */
export const NAMES_BEFORE_BRACKETS = matching(
  /^[^\s{}"'<>[\]\\]+$/u,
  'expected a name without blanks, quotation marks, backslashes, brackets and braces',
)

/** Names of functions in Python; names of tools may have dots and hyphens too. */
export const PYTHON_NAMES = matching(
  /^[\p{L}_][\p{L}\p{N}_.-]*$/u,
  'expected a letter or an underscore, then letters, digits, underscores, dots and hyphens',
)

/** Names that are recipients of messages. */
export const HARMONY_NAMES: NameRule = {
  allows: (name) => BARE_NAMES.allows(name) && !NO_TOOL.has(name),
  expected: `${BARE_NAMES.expected}, other than the recipients ${Array.from(NO_TOOL).join(', ')}`,
}

import type { ValueHints } from './json-value.ts'

/** What a request's answer may be, as the persona needs to know it. */
export type Constraint =
  /** The whole answer is one text of the language. */
  | { readonly kind: 'text'; readonly write: (hints: ValueHints) => string }
  | TagsConstraint
  /** The whole answer is tags or JSON. */
  | {
      readonly kind: 'tags-or-text'
      readonly tags: TagsConstraint
      readonly write: (hints: ValueHints) => string
    }

export type TagsConstraint = {
  readonly kind: 'tags'
  readonly tags: readonly Tag[]
  /** True: it begins with a tag. False: the tags may stand in free text. */
  readonly forced: boolean
  /** At most one tag. */
  readonly single: boolean
}

/** A tool call as a structural tag describes it: `begin`, JSON, `end`. */
export type Tag = {
  readonly begin: string
  readonly write: (hints: ValueHints) => string
  readonly end: string
}

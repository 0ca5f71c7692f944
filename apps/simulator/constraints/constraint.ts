import type { ValueHints } from './json-value.ts'

/** What a request's answer may be, as the persona needs to know it. */
export type Constraint =
  | OutputConstraint
  /** A thought between two texts, and then the output. */
  | {
      readonly kind: 'after-thinking'
      readonly begin: string
      readonly end: string
      readonly output: OutputConstraint
    }

export type OutputConstraint =
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
  /** Stands around all tags. */
  readonly section: { readonly begin: string; readonly end: string }
  readonly tags: readonly Tag[]
  readonly separator: string
  /** True: there is nothing but tags. False: they may stand in free text. */
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

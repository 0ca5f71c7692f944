import type { ValueHints } from './json-value.ts'

/** A constraint on a request's answer, in the form from which the persona writes. */
export type Constraint =
  | OutputConstraint
  /** A thought between `begin` and `end`, then the output. */
  | {
      readonly kind: 'after-thinking'
      readonly begin: string
      readonly end: string
      readonly output: OutputConstraint
    }

export type OutputConstraint =
  /** The whole answer is one text that the constraint allows. */
  | { readonly kind: 'text'; readonly write: (hints: ValueHints) => string }
  | TagsConstraint
  /** The whole answer is either tags or a text that `write` returns. */
  | {
      readonly kind: 'tags-or-text'
      readonly tags: TagsConstraint
      readonly write: (hints: ValueHints) => string
    }

export type TagsConstraint = {
  readonly kind: 'tags'
  /** The text around all tags together. */
  readonly section: { readonly begin: string; readonly end: string }
  readonly tags: readonly Tag[]
  readonly separator: string
  /** True: the answer consists of tags. False: tags may be within free text. */
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

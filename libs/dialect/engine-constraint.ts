import type { JsonSchema } from '#libs/json-schema/json-schema.ts'

/**
 * A grammar for the whole output. An engine that can recognize the end of its model's thinking (vLLM's option
 * `--reasoning-parser`) applies the grammar after the thinking. Any other engine applies it from the first token.
 */
export type EngineConstraint =
  | ({ readonly type: 'answer' } & AnswerShape)
  | { readonly type: 'calls'; readonly calls: CallsShape }
  /** Free text, in which each call that begins with `trigger` follows the grammar. */
  | { readonly type: 'text-with-calls'; readonly trigger: string; readonly calls: CallsShape }
  | ({ readonly type: 'calls-or-answer'; readonly calls: CallsShape } & AnswerShape)
  | {
      readonly type: 'after-thinking'
      readonly thinking: { readonly begin: string; readonly end: string }
      readonly output: Exclude<EngineConstraint, { type: 'after-thinking' }>
    }

/** JSON that fits `schema`, or text that fits `text`. If `header` is present, the answer begins with it. */
export type AnswerShape = { readonly header?: string } & (
  | { readonly schema: JsonSchema }
  | { readonly text: TextShape }
)

/** `grammar` is EBNF with a rule `root`. */
type TextShape =
  | { readonly type: 'regex'; readonly pattern: string }
  | { readonly type: 'choice'; readonly choices: readonly string[] }
  | { readonly type: 'grammar'; readonly grammar: string }

/** One or more calls and nothing else. Each call is `begin`, JSON that fits the schema, and `end`. */
export type CallsShape = {
  /** The text around all calls; null if there is none. */
  readonly section: { readonly begin: string; readonly end: string } | null
  readonly tags: readonly { readonly begin: string; readonly schema: JsonSchema; readonly end: string }[]
  /** The text between two calls. */
  readonly separator: string
  /** True if there is exactly one call. */
  readonly single: boolean
}

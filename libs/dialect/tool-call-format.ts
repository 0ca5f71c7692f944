import type { HarmonyMessages, HarmonySink } from './syntax/harmony-messages.ts'
import type { NameRule } from './syntax/name-rules.ts'
import type { TextSyntax } from './syntax/text-with-calls.ts'
import type { JsonValue } from './syntax/write-values.ts'

/**
 * The way in which a family of models writes tool calls. `read` and `write` of a format share no constants, so that the
 * tests can check each with the other.
 */
export type ToolCallFormat = {
  /** The text of two calls: `get_weather` with `city` "Paris" and `days` 3, then `clock` without arguments. */
  readonly example: string
  readonly names: NameRule
  readonly read: TextSyntax | MessageSyntax
  /** Null if the arguments are not JSON, so that no JSON schema describes them. */
  readonly constrain: CallGrammar | null
  /** Returns the text of one or more calls, as the format's chat template renders them. */
  readonly write: (calls: readonly CallToWrite[]) => string
}

/** Calls are messages of their own, beside the messages of thinking and answer. */
export type MessageSyntax = {
  readonly type: 'messages'
  /** Every text that has a meaning in the format. */
  readonly markers: readonly string[]
  readonly open: (
    sink: HarmonySink,
    options: { readonly tools: boolean; readonly single: boolean },
  ) => HarmonyMessages
}

/** The grammar of calls, letter by letter as the chat template shows them to the model. */
export type CallGrammar = {
  /** A text with which every call begins and no other text does. If absent, optional calls cannot be constrained. */
  readonly trigger?: string
  /** The text around all calls. */
  readonly section?: { readonly begin: string; readonly end: string }
  /** Returns the text of a call up to its arguments. */
  readonly begin: (name: string) => string
  /** The text of a call after its arguments. */
  readonly end: string
  readonly separator: string
  /**
   * Set for formats whose output is a sequence of messages: the thinking comes first, and the answer begins with a
   * header.
   */
  readonly messages?: {
    readonly thinking: { readonly begin: string; readonly end: string }
    readonly answerHeader: string
  }
}

/** `json` is the text of the arguments, for formats that have them as JSON. */
export type CallToWrite = {
  readonly name: string
  readonly args: Readonly<Record<string, JsonValue>>
  readonly json: string
}

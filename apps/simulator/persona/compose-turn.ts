import type { ModelFamily } from '#libs/dialect/family.ts'
import { TOOL_CALL_FORMATS } from '#libs/dialect/formats.ts'
import { toSpacedJson, type JsonValue } from '#libs/dialect/syntax/write-values.ts'
import { isJsonObject } from '#libs/json-schema/json-schema.ts'
import type { CallToWrite } from '#libs/dialect/tool-call-format.ts'
import type { Constraint, OutputConstraint, Tag, TagsConstraint } from '../constraints/constraint.ts'
import { ConstraintError } from '../constraints/constraint-error.ts'
import { valueFor, type ValueHints } from '../constraints/json-value.ts'
import { parseConversation, type Conversation, type Turn } from './parse-conversation.ts'
import { writeTurn, type Answer } from './write-turn.ts'

/** The assistant's whole turn. */
export type ComposedTurn =
  | { readonly kind: 'text'; readonly text: string; readonly constrained: boolean }
  | { readonly kind: 'directive'; readonly directive: Directive }

/**
 * Composes the next assistant turn of a conversation, as the simulated model writes it.
 * - It repeats the conversation, so that a person sees what arrived.
 * - It calls an offered tool if the user's last message contains a word of the tool's name. If the conversation ends
 *   with results of tools, it repeats these results instead.
 * - Under a constraint it writes a text that the grammar allows. Where a call is forced, it prefers a tool that has no
 *   result yet.
 * - With `thinking` it begins with reasoning.
 *
 * Calls and reasoning are in the family's format. The turn depends on the arguments alone, never on the part of it that
 * is already written, so a continued answer equals an answer without an interruption.
 */
export function composeTurn(options: {
  prompt: string
  family: Pick<ModelFamily, 'reasoning' | 'toolCalls'>
  thinking: boolean
  constraint: Constraint | null
  variant: number
}): ComposedTurn {
  const { family, thinking, constraint, variant } = options
  const conversation = parseConversation(options.prompt)
  const directive = constraint === null ? parseDirective(conversation.lastUserText) : null
  if (directive !== null) return { kind: 'directive', directive }
  const hints: ValueHints = {
    userText: conversation.lastUserText,
    text: subjectOf(conversation.lastUserText),
    variant,
  }
  const thought = thoughtAbout(conversation)
  if (constraint?.kind === 'after-thinking') {
    const { begin, end, output } = constraint
    const text = begin + thought + end + writeConstrained(conversation, output, hints)
    return { kind: 'text', text, constrained: true }
  }
  const answer = writeAnswer(conversation, { constraint, toolCalls: family.toolCalls, hints })
  const text = writeTurn(family.reasoning, { thought: thinking ? thought : null, answer })
  return { kind: 'text', text, constrained: answer.kind === 'constrained' }
}

function writeAnswer(
  conversation: Conversation,
  options: {
    constraint: OutputConstraint | null
    toolCalls: ModelFamily['toolCalls']
    hints: ValueHints
  },
): Answer {
  const { constraint, toolCalls, hints } = options
  if (constraint !== null && (constraint.kind !== 'tags' || constraint.forced)) {
    return { kind: 'constrained', text: writeConstrained(conversation, constraint, hints) }
  }
  const { toolResults } = conversation
  if (toolResults.length > 0) return { kind: 'text', text: `The tool says: ${toolResults.join('\n')}` }
  const calls =
    constraint === null
      ? writeCalls(conversation, toolCalls, hints)
      : writeTags(constraint, wantedTags(constraint, conversation), hints)
  return calls === '' ? { kind: 'text', text: echo(conversation) } : { kind: 'calls', text: calls }
}

/** Returns a text that the grammar allows, with all markers around the answer. */
function writeConstrained(
  conversation: Conversation,
  constraint: OutputConstraint,
  hints: ValueHints,
): string {
  if (constraint.kind === 'text') return constraint.write(hints)
  const tags = constraint.kind === 'tags' ? constraint : constraint.tags
  if (constraint.kind === 'tags') return writeTags(tags, forcedTags(tags, conversation), hints)
  const wanted = wantedTags(tags, conversation)
  return wanted.length > 0 && conversation.toolResults.length === 0
    ? writeTags(tags, wanted, hints)
    : constraint.write(hints)
}

/**
 * Returns the calls to make if a call is forced: the calls that the user's last message mentions, or else the first
 * possible call. Calls without a result are preferred. Without this preference, a client that sends requests until the
 * model makes a certain call might never stop.
 */
function forcedTags(constraint: TagsConstraint, conversation: Conversation): readonly Tag[] {
  const { tools, answeredWords } = conversation
  const isOpen = (tag: Tag) => !answeredWords.has(toolOf(tag, tools))
  const wanted = wantedTags(constraint, conversation)
  const choices = [wanted.filter(isOpen), constraint.tags.filter(isOpen).slice(0, 1), wanted]
  return choices.find((tags) => tags.length > 0) ?? constraint.tags.slice(0, 1)
}

function wantedTags({ tags }: TagsConstraint, { tools, lastUserText }: Conversation): Tag[] {
  return tags.filter((tag) => mentions(lastUserText, toolOf(tag, tools)))
}

/** Returns the tool that a tag calls: the longest tool name in the tag's beginning. */
function toolOf({ begin }: Tag, tools: Conversation['tools']): string {
  const names = tools.map(({ name }) => name).filter((name) => begin.includes(name))
  return names.toSorted((a, b) => b.length - a.length)[0] ?? begin
}

function writeTags(constraint: TagsConstraint, wanted: readonly Tag[], hints: ValueHints): string {
  if (wanted.length === 0) return ''
  const { section, separator, single } = constraint
  const written = (single ? wanted.slice(0, 1) : wanted).map((tag) => tag.begin + tag.write(hints) + tag.end)
  return section.begin + written.join(separator) + section.end
}

function writeCalls(
  { tools, lastUserText }: Conversation,
  format: ModelFamily['toolCalls'],
  hints: ValueHints,
): string {
  if (format === 'none') return ''
  const called = tools.filter((tool) => mentions(lastUserText, tool.name))
  if (called.length === 0) return ''
  return TOOL_CALL_FORMATS[format].write(
    called.map(({ name, parameters }) => ({ name, ...argumentsFor(parameters, hints) })),
  )
}

/**
 * Returns the arguments of a call that no grammar constrains. If no value fits the tool's schema, the call is made with
 * empty arguments: a real model would also call such a tool.
 */
function argumentsFor(parameters: unknown, hints: ValueHints): Pick<CallToWrite, 'args' | 'json'> {
  const value = valueOrNothing(parameters, hints)
  return { args: isJsonObject(value) ? value : {}, json: toSpacedJson(value) }
}

function valueOrNothing(schema: unknown, hints: ValueHints): JsonValue {
  try {
    return valueFor(schema, hints)
  } catch (error) {
    if (error instanceof ConstraintError) return {}
    throw error
  }
}

/**
 * Returns whether the text contains a word of the tool's name. Short words (`get`, `set`, `of`) count only if all words
 * of the name are short, because almost every sentence contains such a word.
 */
function mentions(text: string, toolName: string): boolean {
  const words = toolName
    .replaceAll(/([a-z])([A-Z])/gu, '$1_$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
  const long = words.filter((word) => word.length >= 4)
  const wanted = new Set((long.length > 0 ? long : words).filter((word) => word !== ''))
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .some((word) => wanted.has(word))
}

function echo({ turns, tools }: Conversation): string {
  const lastUser = turns.findLastIndex((turn) => turn.role === 'user')
  const said = turns[lastUser]?.content ?? ''
  const earlier = turns.filter((turn, i) => i !== lastUser && turn.content !== '').map(toLine)
  const offered = tools.length === 0 ? [] : [`tools: ${tools.map((tool) => tool.name).join(', ')}`]
  const before = [...offered, ...earlier]
  return `You said: ${said}${before.length === 0 ? '' : `\n\nBefore that:\n${before.join('\n')}`}`
}

/**
 * Returns a turn as one line. The tags around calls and results are removed, because a call with its tags would be a
 * new call.
 */
function toLine({ role, content }: Turn): string {
  return `${role}: ${content.replaceAll(/\s*<\/?tool_(?:call|response)>\s*/gu, ' ').trim()}`
}

function thoughtAbout({ turns, tools, toolResults }: Conversation): string {
  const count = turns.length === 1 ? 'is one message' : `are ${turns.length} messages`
  if (toolResults.length > 0) return `There ${count}, and the last one is the result of a tool.`
  const offer = tools.length === 0 ? '' : ` I may call ${tools.map((tool) => tool.name).join(', ')}.`
  return `There ${count}.${offer} I answer the last one.`
}

/** Returns a word for string arguments: the last capitalised word inside a sentence, often a place. */
function subjectOf(text: string): string {
  const names = Array.from(text.matchAll(/(?<=[\p{L}\p{N},;:]\s)\p{Lu}\p{L}+/gu), (match) => match[0])
  return names.at(-1) ?? 'text'
}

/** An instruction to the simulator, in double brackets inside the last message of the user. */
type Directive =
  /** `[[tokens=4000]]`: exactly that many tokens, then the end. */
  | { readonly kind: 'tokens'; readonly count: number }
  /** `[[raw=invalid-utf8]]`: words with invalid UTF-8 between them. */
  | { readonly kind: 'invalid-utf8' }

/** Returns the first directive in a message, or null. Anything else in double brackets is text. */
function parseDirective(text: string): Directive | null {
  const match = /\[\[(?:tokens=(\d{1,7})|raw=invalid-utf8)\]\]/u.exec(text)
  if (match === null) return null
  return match[1] === undefined ? { kind: 'invalid-utf8' } : { kind: 'tokens', count: Number(match[1]) }
}

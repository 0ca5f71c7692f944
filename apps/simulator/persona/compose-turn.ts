import type { Constraint, Tag, TagsConstraint } from '../constraints/constraint.ts'
import { ConstraintError } from '../constraints/constraint-error.ts'
import { toSpacedJson, type JsonValue } from '../constraints/json-text.ts'
import { valueFor, type ValueHints } from '../constraints/json-value.ts'
import { parseDirective, type Directive } from './directives.ts'
import { parseConversation, type Conversation, type Turn } from './parse-conversation.ts'

/** What the assistant's whole turn is. */
export type ComposedTurn =
  | { readonly kind: 'text'; readonly text: string; readonly constrained: boolean }
  | { readonly kind: 'directive'; readonly directive: Directive }

/**
 * The persona. It writes back the conversation that it was given, so that a person sees what arrived; it calls
 * an offered tool when the last message contains a word of its name; it repeats a tool's result; under a
 * constraint it writes what the constraint allows. With `thinking` it thinks first. The turn depends on the
 * arguments alone, never on what is already written of it: so a continued answer equals an undisturbed one.
 */
export function composeTurn(options: {
  prompt: string
  thinking: boolean
  constraint: Constraint | null
  variant: number
}): ComposedTurn {
  const { thinking, constraint, variant } = options
  const conversation = parseConversation(options.prompt)
  const directive = constraint === null ? parseDirective(conversation.lastUserText) : null
  if (directive !== null) return { kind: 'directive', directive }
  const hints: ValueHints = {
    userText: conversation.lastUserText,
    text: subjectOf(conversation.lastUserText),
    variant,
  }
  const constrained = constraint !== null && (constraint.kind !== 'tags' || constraint.forced)
  const answer = writeAnswer(conversation, constraint, hints)
  // A grammar starts at the very token after `</think>`: no blank line fits in between.
  const thought = thinking
    ? `<think>\n${thoughtAbout(conversation)}\n</think>${constrained ? '' : '\n\n'}`
    : ''
  return { kind: 'text', text: thought + answer, constrained }
}

function writeAnswer(conversation: Conversation, constraint: Constraint | null, hints: ValueHints): string {
  const { tools, toolResults, lastUserText } = conversation
  if (constraint?.kind === 'text') return constraint.write(hints)
  if (constraint !== null) {
    const tags = constraint.kind === 'tags' ? constraint : constraint.tags
    const wanted = tags.tags.filter((tag) => mentions(lastUserText, nameOfTag(tag)))
    if (constraint.kind === 'tags' && constraint.forced) {
      return writeTags(tags, wanted.length > 0 ? wanted : tags.tags.slice(0, 1), hints)
    }
    if (wanted.length > 0 && toolResults.length === 0) return writeTags(tags, wanted, hints)
    if (constraint.kind === 'tags-or-text') return constraint.write(hints)
  }
  if (toolResults.length > 0) return `The tool says: ${toolResults.join('\n')}`
  const called = constraint === null ? tools.filter((tool) => mentions(lastUserText, tool.name)) : []
  if (called.length === 0) return echo(conversation)
  const calls = called.map(({ name, parameters }) =>
    toSpacedJson({ name, arguments: argumentsFor(parameters, hints) }),
  )
  return calls.map((call) => `<tool_call>\n${call}\n</tool_call>`).join('\n')
}

/** A model that is free to call writes something, whatever the tool's schema is. */
function argumentsFor(parameters: unknown, hints: ValueHints): JsonValue {
  try {
    return valueFor(parameters, hints)
  } catch (error) {
    if (error instanceof ConstraintError) return {}
    throw error
  }
}

function writeTags({ single }: TagsConstraint, wanted: readonly Tag[], hints: ValueHints): string {
  const written = single ? wanted.slice(0, 1) : wanted
  return written.map((tag) => tag.begin + tag.write(hints) + tag.end).join('\n')
}

function nameOfTag(tag: Tag): string {
  return /"name":\s*"([^"]+)"/u.exec(tag.begin)?.[1] ?? tag.begin
}

/**
 * Whether a word of the tool's name stands in the text. Short words (`get`, `set`, `of`) do not count unless
 * the name has no others: almost every sentence has one.
 */
function mentions(text: string, toolName: string): boolean {
  const words = toolName
    .replaceAll(/([a-z])([A-Z])/gu, '$1_$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
  const telling = words.filter((word) => word.length >= 4)
  const wanted = new Set((telling.length > 0 ? telling : words).filter((word) => word !== ''))
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

/** Without the tags around calls and their results: an earlier call, written again with them, would be a new one. */
function toLine({ role, content }: Turn): string {
  return `${role}: ${content.replaceAll(/\s*<\/?tool_(?:call|response)>\s*/gu, ' ').trim()}`
}

function thoughtAbout({ turns, tools, toolResults }: Conversation): string {
  const count = turns.length === 1 ? 'is one message' : `are ${turns.length} messages`
  if (toolResults.length > 0) return `There ${count}, and the last one is the result of a tool.`
  const offer = tools.length === 0 ? '' : ` I may call ${tools.map((tool) => tool.name).join(', ')}.`
  return `There ${count}.${offer} I answer the last one.`
}

/** A word for arguments that may be anything: the last capitalised word inside a sentence, often a place. */
function subjectOf(text: string): string {
  const names = Array.from(text.matchAll(/(?<=[\p{L}\p{N},;:]\s)\p{Lu}\p{L}+/gu), (match) => match[0])
  return names.at(-1) ?? 'text'
}

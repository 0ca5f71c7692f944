import { isJsonObject } from '#libs/json-schema/json-schema.ts'

export type Turn = { readonly role: string; readonly content: string }

export type Tool = { readonly name: string; readonly parameters: unknown }

export type Conversation = {
  readonly turns: readonly Turn[]
  /** The tools that the system turn's `<tools>` section offers, in order. */
  readonly tools: readonly Tool[]
  /** The tool results of the last turn; empty if it has none. */
  readonly toolResults: readonly string[]
  /** The last message of the user; empty if there is none. */
  readonly lastUserText: string
  /**
   * The words of assistant turns that come after the last message of the user and whose calls have results. The names
   * of the called tools are among these words.
   */
  readonly answeredWords: ReadonlySet<string>
}

/**
 * A mark before the text of each added token. It distinguishes the token that ends a turn from the same characters
 * (`<|im_end|>`) typed by a user. The mark is a noncharacter of Unicode, and is removed from all text that does not
 * come from added tokens.
 */
export const TOKEN_MARK = '\uFDD0'

/**
 * Parses ChatML as the families' templates render it, with `TOKEN_MARK` before each added token. Never throws: in a
 * turn, text that does not fit the format is content.
 */
export function parseConversation(prompt: string): Conversation {
  const turns = toTurns(prompt)
  const last = turns.at(-1)
  const toolResults = last?.role === 'user' ? toToolResults(last.content) : []
  const lastUser = turns.findLastIndex(
    (turn) => turn.role === 'user' && toToolResults(turn.content).length === 0,
  )
  return {
    turns: turns.map((turn) => ({ role: turn.role, content: unmarked(withoutToolSection(turn)) })),
    tools: turns.filter((turn) => turn.role === 'system').flatMap((turn) => toTools(turn.content)),
    toolResults,
    lastUserText: unmarked(turns[lastUser]?.content ?? ''),
    answeredWords: new Set(turns.slice(lastUser + 1).flatMap(toAnsweredWords)),
  }
}

function toAnsweredWords({ role, content }: Turn, index: number, turns: readonly Turn[]): string[] {
  const next = turns[index + 1]
  if (role !== 'assistant' || next === undefined || toToolResults(next.content).length === 0) return []
  // A dot may end a prefix of names, as in `functions.get_weather`.
  const names = content.split(/[^\p{L}\p{N}_.-]+/u)
  return names.flatMap((name) => [name, name.slice(name.indexOf('.') + 1)])
}

const unmarked = (text: string) => text.replaceAll(TOKEN_MARK, '')

const TURN_START = /(?:^|\uFDD0<\|im_end\|>\n)\uFDD0<\|im_start\|>([a-z_]+)\n/gu
const TURN_END = /\uFDD0<\|im_end\|>\n?$/u

function toTurns(prompt: string): Turn[] {
  const starts = Array.from(prompt.matchAll(TURN_START))
  return starts.map((start, i) => {
    const from = start.index + start[0].length
    const to = starts[i + 1]?.index ?? prompt.length
    return { role: start[1] ?? '', content: prompt.slice(from, to).replace(TURN_END, '') }
  })
}

/** Templates render results as user turns without any other content. */
function toToolResults(content: string): string[] {
  if (!/^\s*\uFDD0<tool_response>\n/u.test(content)) return []
  return Array.from(content.matchAll(/\uFDD0<tool_response>\n(.*?)\n\uFDD0<\/tool_response>/gsu), (match) =>
    unmarked(match[1] ?? ''),
  )
}

const TOOLS_HEADING = '# Tools\n\n'

function withoutToolSection({ role, content }: Turn): string {
  if (role !== 'system') return content
  const start = content.lastIndexOf(TOOLS_HEADING)
  return start < 0 || toTools(content).length === 0 ? content : content.slice(0, start).trimEnd()
}

/** Definitions are JSON objects, one a line, so no text inside one can end the section. */
function toTools(content: string): Tool[] {
  const start = content.lastIndexOf('\n<tools>\n')
  if (start < 0) return []
  const lines = content.slice(start + '\n<tools>\n'.length).split('\n')
  const end = lines.indexOf('</tools>')
  return lines.slice(0, end < 0 ? 0 : end).flatMap((line) => toTool(line) ?? [])
}

function toTool(line: string): Tool | null {
  try {
    const given: unknown = JSON.parse(line)
    const definition = isJsonObject(given) && isJsonObject(given['function']) ? given['function'] : given
    if (!isJsonObject(definition) || typeof definition['name'] !== 'string') return null
    return { name: definition['name'], parameters: definition['parameters'] ?? { type: 'object' } }
  } catch {
    // Not JSON: the `<tools>` section is text of a caller.
    return null
  }
}

import type { ModelFamily } from '#libs/dialect/family.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import type { Constraint } from '../constraints/constraint.ts'
import { DEAD_END } from '../constraints/dead-end.ts'
import type { Script } from '../sampling/script.ts'
import { createSplitPrompt, overlap, TURN_START } from './open-turn.ts'
import { composeTurn, type ComposedTurn } from './compose-turn.ts'
import { TOKEN_MARK } from './parse-conversation.ts'

/** Returns the first `count` tokens of a script after a prompt of `promptTokens`. */
export type Replay = (
  script: Script,
  extent: { readonly promptTokens: number; readonly count: number },
) => readonly number[]

export type ScriptWriter = (options: {
  promptIds: Uint32Array
  constraint: Constraint | null
  /** Shifts the filler and the choices that a grammar leaves open. */
  variant: number
  /**
   * Applies the call's sampling parameters to a script. Without `replay`, the script's tokens are taken as they are.
   */
  replay?: Replay
}) => Promise<Script>

/**
 * Writes the persona's turns as tokens. A prompt that ends inside an assistant turn is continued there. The
 * conversation before the turn determines the turn's tokens. The tokens of the turn that the prompt already has
 * determine the position at which the turn is continued, even if the sampling parameters replaced some of them.
 *
 * Other prompts are not chats. The answer to such a prompt is filler text. It depends only on the position, counted
 * from the beginning of the prompt, so that it can be continued as well.
 */
export async function createScriptWriter(options: {
  tokenizer: Tokenizer
  /** A family with reasoning thinks unless the prompt disables it. */
  family: Pick<ModelFamily, 'reasoning' | 'toolCalls'>
  /** The end tokens, the primary end token first. */
  endIds: readonly number[]
}): Promise<ScriptWriter> {
  const { tokenizer, family, endIds } = options
  const split = await createSplitPrompt(tokenizer)
  const added = new Set(tokenizer.addedTokens.map(({ id }) => id))
  const fillerIds = await encodeWritten(FILLER, options)
  const invalid = await invalidUtf8(tokenizer)
  const primaryEnd = endIds[0] ?? 0
  const cyclic = (index: number) => fillerIds[index % fillerIds.length] ?? primaryEnd

  async function toTokens(turn: ComposedTurn, variant: number): Promise<number[]> {
    if (turn.kind === 'text') return await encodeWritten(turn.text.split(DEAD_END, 1).join(''), options)
    if (turn.directive.kind === 'invalid-utf8') return invalid
    return Array.from({ length: turn.directive.count }, (_, i) => cyclic(i + variant))
  }

  return async ({ promptIds, constraint, variant, replay = readOut }) => {
    const open = split(promptIds)
    if (open === null && constraint === null) return rawScript(promptIds.length)
    const { before, written } = open ?? { before: promptIds, written: new Uint32Array(0) }
    const closed = closedThoughtLength(written, tokenizer)
    const turn = composeTurn({
      prompt: decodeMarked(before, tokenizer, added),
      family,
      thinking: family.reasoning !== 'none' && closed === 0,
      constraint,
      variant,
    })
    const tokens = await toTokens(turn, variant)
    const rest = written.subarray(closed)
    const filler = (index: number) => cyclic(variant + index)
    const constrained = turn.kind === 'text' && turn.constrained
    const isDeadEnd = turn.kind === 'text' && turn.text.includes(DEAD_END)
    const script = { tokens, filler, constrained, isDeadEnd }
    const promptTokens = promptIds.length - rest.length
    const own = replay(startingAt(script, 0), { promptTokens, count: rest.length })
    if (rest.every((id, i) => id === own[i])) return startingAt(script, rest.length)
    const respelled = turn.kind === 'text' ? await restAfter(turn.text, rest) : null
    if (respelled !== null) return startingAt({ ...script, tokens: respelled }, 0)
    return startingAt(script, overlap(rest, tokens))
  }

  type Turn = Pick<Script, 'filler' | 'constrained' | 'isDeadEnd'> & { readonly tokens: readonly number[] }

  function startingAt({ tokens, filler, constrained, isDeadEnd = false }: Turn, start: number): Script {
    return {
      at: (index) => tokens[start + index] ?? null,
      filler: (index) => filler(Math.max(start + index - tokens.length, 0)),
      // Where a grammar is complete, it allows every end token, and real engines do end with any of them.
      endId: (index) => (constrained ? (endIds[(start + index) % endIds.length] ?? primaryEnd) : primaryEnd),
      constrained,
      isDeadEnd,
    }
  }

  /**
   * Returns the tokens of the part of `text` that follows the text of `written`; null if `text` does not begin with the
   * text of `written`. The texts are compared, because a client may send an answer back as text, and the tokens of this
   * text may differ from the tokens that the simulator sent.
   */
  async function restAfter(text: string, written: Uint32Array): Promise<number[] | null> {
    const begun = tokenizer.decode(written)
    return text.startsWith(begun) ? await encodeWritten(text.slice(begun.length), options) : null
  }

  function rawScript(promptTokens: number): Script {
    return {
      at: (index) => ((promptTokens + index) % RAW_PERIOD === 0 ? null : cyclic(promptTokens + index)),
      filler: (index) => cyclic(promptTokens + index),
      endId: () => primaryEnd,
      constrained: false,
    }
  }
}

function readOut(script: Script, { count }: { readonly count: number }): number[] {
  return Array.from({ length: count }, (_, index) => script.at(index) ?? script.filler(index))
}

/**
 * The answer to a prompt that is not a chat ends at a position that is a multiple of this number. Positions are counted
 * in tokens from the beginning of the prompt.
 */
const RAW_PERIOD = 61

export const FILLER =
  ' The river runs past the old mill and turns the great wheel, and the wheel turns the stone. Grain goes in' +
  ' above, flour comes out below, and nobody asks the water how it feels about it. In spring the race is high,' +
  ' in summer it is low, and in winter the miller breaks the ice in the morning before the first cart arrives.'

/** Returns the text of ids, with a mark before each added token. */
function decodeMarked(ids: Uint32Array, tokenizer: Tokenizer, added: ReadonlySet<number>): string {
  const pieces: string[] = []
  let from = 0
  // `entries()` is not used, because it would make an array for each of 100,000 ids.
  for (let at = 0; at < ids.length; at++) {
    if (!added.has(ids[at] ?? 0)) continue
    pieces.push(tokenizer.decode(ids.subarray(from, at)).replaceAll(TOKEN_MARK, ''))
    pieces.push(TOKEN_MARK + tokenizer.decode(ids.subarray(at, at + 1)))
    from = at + 1
  }
  pieces.push(tokenizer.decode(ids.subarray(from)).replaceAll(TOKEN_MARK, ''))
  return pieces.join('')
}

const CLOSED_THOUGHT = '<think>\n\n</think>\n\n'

/**
 * A chat template disables thinking by an empty thought at the beginning of the turn. Returns how many of the ids
 * belong to such a thought; 0 if there is none.
 */
function closedThoughtLength(written: Uint32Array, tokenizer: Tokenizer): number {
  for (let length = 1; length <= Math.min(written.length, CLOSED_THOUGHT.length); length++) {
    const text = tokenizer.decode(written.subarray(0, length))
    if (text === CLOSED_THOUGHT) return length
    if (!CLOSED_THOUGHT.startsWith(text)) return 0
  }
  return 0
}

/** Encodes a text that the model writes: the markers of turns are encoded as text, other markers as tokens. */
export async function encodeWritten(
  text: string,
  { tokenizer, endIds }: { tokenizer: Tokenizer; endIds: readonly number[] },
): Promise<number[]> {
  const ends = endIds.map((id) => tokenizer.decode(Uint32Array.of(id)))
  const torn = [TURN_START, ...ends]
    .filter((marker) => marker !== '')
    .map((marker) => `(?<=${RegExp.escape(marker.charAt(0))})(?=${RegExp.escape(marker.slice(1))})`)
  const pieces = text.split(new RegExp(torn.join('|'), 'u'))
  const encoded = await Promise.all(pieces.map((piece) => tokenizer.encode(piece)))
  return encoded.flatMap((ids) => Array.from(ids))
}

/** A character of four bytes that no vocabulary merges. */
export const UNMERGED = '\u{10FFFD}'

/** Returns beginnings and middles of `UNMERGED` between whole words. */
async function invalidUtf8(tokenizer: Tokenizer): Promise<number[]> {
  const character = Array.from(await tokenizer.encode(UNMERGED))
  const [first = 0, second = 0] = character
  const [word, end] = await Promise.all([tokenizer.encode(' broken'), tokenizer.encode(' bytes.')])
  return [...word, first, ...word, second, ...word, first, second, ...end]
}

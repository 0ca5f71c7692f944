import type { TokenizerFile } from '../tokenizer-file.ts'
import type { Encoder } from './encoder.ts'
import type { PieceCache } from './piece-cache.ts'
import { createSplitter, type Section } from './split-at-tokens.ts'

/** How many texts of a prompt came from the cache, and how many were encoded. */
export type NoteEncoded = (texts: { readonly cached: number; readonly encoded: number }) => void

/**
 * Returns the function that encodes pieces independently and concatenates their ids. It splits each piece further where
 * the tokenizer itself splits, because the shorter texts occur in many prompts and are found in the cache. The ids are
 * the same with and without a cache.
 */
export function createEncodePieces(deps: {
  file: TokenizerFile
  encoder: Encoder
  cache: PieceCache
  note: NoteEncoded
}): (pieces: readonly string[]) => Promise<Uint32Array> {
  const { file, encoder, cache, note } = deps
  const leader = file.prependsFirst ? findLeader(file) : ''
  const canSplit = !file.prependsFirst || leader !== ''
  const split = canSplit ? createSplitter(file) : (text: string): Section[] => [{ type: 'text', text }]

  /** Returns the ids of each text. Equal texts are encoded once. */
  async function encodeAll(texts: readonly string[]): Promise<Map<string, Uint32Array>> {
    const idsOf = new Map<string, Uint32Array>()
    const missing = new Set<string>()
    for (const text of texts) {
      const ids = idsOf.get(text) ?? cache.get(text)
      if (ids === undefined) missing.add(text)
      else idsOf.set(text, ids)
    }
    note({ cached: idsOf.size, encoded: missing.size })
    if (missing.size === 0) return idsOf
    const distinct = Array.from(missing)
    for (const [i, ids] of (await encoder.encode(distinct, { whole: false })).entries()) {
      const text = distinct[i] ?? ''
      idsOf.set(text, ids)
      cache.set(text, ids)
    }
    return idsOf
  }

  return async (pieces) => {
    const sections = pieces.filter((piece) => piece !== '').flatMap((piece) => split(piece.toWellFormed()))
    const led = sections.map((section, i) =>
      section.type === 'text' && i > 0 ? { ...section, text: leader + section.text } : section,
    )
    const idsOf = await encodeAll(led.flatMap((section) => (section.type === 'text' ? [section.text] : [])))
    return concat(
      led.map((section, i) => {
        if (section.type === 'token') return Uint32Array.of(section.id)
        return (idsOf.get(section.text) ?? new Uint32Array(0)).subarray(i > 0 && leader !== '' ? 1 : 0)
      }),
    )
  }
}

/**
 * Returns a special token. The caller puts it before each text that is not at the beginning of the prompt, and removes
 * its id after the encoding. It is needed because some tokenizers put a blank before the beginning of a text, but not
 * after a special token. Returns `''` if the vocabulary has no suitable token.
 */
function findLeader({ addedTokens }: TokenizerFile): string {
  return addedTokens.find((token) => token.special && !token.rstrip && !token.normalized)?.content ?? ''
}

function concat(parts: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

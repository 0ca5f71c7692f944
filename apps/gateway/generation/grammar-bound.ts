import { LRUCache } from 'lru-cache'
import type { RequestSize } from '#libs/contracts/request-size.ts'

/** Bounds the large grammars that engines compile for one account at a time. */
export type GrammarBound = {
  /** Null: the account has as many new grammars of this model under way as it may. */
  enter(account: string, size: Pick<RequestSize, 'grammar'>): GrammarUse | null
}

/** Of one generation. Calls after the first of either change nothing. */
export type GrammarUse = {
  /** It has output, so its grammars are compiled: engines keep them. */
  compiled(): void
  /** It has ended. */
  leave(): void
}

/** New grammars of one account and model. An engine compiles each for up to seconds, and does nothing else meanwhile. */
const MAX_NEW = 4
/** Compiled grammars that are remembered, by account and model. */
const MAX_KNOWN = 10_000

/**
 * Counts grammars and not generations: a batch of requests with one new schema is compiled once. A grammar is known here
 * after its first output; an engine that has not seen it yet compiles it again, once.
 */
export function createGrammarBound(): GrammarBound {
  const known = new LRUCache<string, true>({ max: MAX_KNOWN })
  /** Generations by new grammar, by account. */
  const underWay = new Map<string, Map<string, number>>()

  /** The generations of a grammar that is compiled are forgotten together. */
  function leave(account: string, grammar: string, isCompiled: boolean): void {
    const own = underWay.get(account)
    const left = (own?.get(grammar) ?? 0) - 1
    if (left > 0 && !isCompiled) own?.set(grammar, left)
    else own?.delete(grammar)
    if (own?.size === 0) underWay.delete(account)
  }

  return {
    enter(account, { grammar }) {
      if (grammar === null || known.get(`${account} ${grammar}`) === true) return NOTHING
      const own = underWay.get(account) ?? new Map<string, number>()
      if (!own.has(grammar) && own.size >= MAX_NEW) return null
      own.set(grammar, (own.get(grammar) ?? 0) + 1)
      underWay.set(account, own)
      let isUnderWay = true
      const end = (isCompiled: boolean) => {
        if (!isUnderWay) return
        isUnderWay = false
        if (isCompiled) known.set(`${account} ${grammar}`, true)
        leave(account, grammar, isCompiled)
      }
      return { compiled: () => end(true), leave: () => end(false) }
    },
  }
}

const NOTHING: GrammarUse = { compiled() {}, leave() {} }

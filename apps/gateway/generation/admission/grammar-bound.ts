import { LRUCache } from 'lru-cache'
import type { RequestSize } from '#libs/contracts/request-size.ts'

/** Bounds the large grammars that engines compile for one account at a time. */
export type GrammarBound = {
  /** Returns null if `MAX_NEW` new grammars are already being compiled. `account` names an account and a model. */
  enter(account: string, size: Pick<RequestSize, 'grammar'>): GrammarUse | null
}

/** The use of a grammar by one generation. Only the first call of either function has an effect. */
export type GrammarUse = {
  /** Notes that the generation has output, so its grammars are compiled. Engines keep compiled grammars. */
  compiled(): void
  /** Notes that the generation has ended. */
  leave(): void
}

/**
 * The largest number of new grammars that engines may be compiling at the same time for one account and model. An
 * engine may take seconds to compile a grammar, and does nothing else meanwhile.
 */
const MAX_NEW = 4
/** How many compiled grammars are remembered, over all accounts and models. */
const MAX_KNOWN = 10_000

/**
 * Creates the bound, which counts new grammars and not generations: if many requests have the same new schema, an
 * engine compiles it once. A grammar is no longer new once one engine has given output with it, although each other
 * engine must still compile it once.
 */
export function createGrammarBound(): GrammarBound {
  const known = new LRUCache<string, true>({ max: MAX_KNOWN })
  /** The number of generations of each new grammar, by account. */
  const underWay = new Map<string, Map<string, number>>()

  /** Once a grammar is compiled, all of its generations are forgotten together. */
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

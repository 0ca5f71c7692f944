import { findUnproductive } from '#libs/json-schema/find-unproductive.ts'

/**
 * Finds out whether each rule of a grammar derives a text. A group counts as a rule of its own, and so does each
 * alternative. The grammar is noted from left to right: the items of a rule follow its name, and the items of a group are
 * between `openGroup` and `closeGroup`.
 */
export class GrammarRules {
  readonly #needs = new Map<string, string[][]>()
  /** All rules that occur in a rule, also the optional ones. */
  readonly #uses = new Map<string, string[]>()
  readonly #withEmptyClass = new Set<string>()
  readonly #outer: { readonly rule: string; readonly alternative: string }[] = []
  #rule = ''
  #alternative = ''
  #count = 0
  #isNeeded = false

  open(rule: string): void {
    this.#rule = rule
    if (!this.#needs.has(rule)) this.#needs.set(rule, [[]])
    this.beginAlternative()
  }

  beginAlternative(): void {
    this.#alternative = `|${(this.#count += 1)}`
    this.#needs.get(this.#rule)?.[0]?.push(this.#alternative)
    this.#needs.set(this.#alternative, [])
    this.#isNeeded = false
  }

  openGroup(): void {
    const group = `(${(this.#count += 1)}`
    this.addRule(group)
    this.#outer.push({ rule: this.#rule, alternative: this.#alternative })
    this.open(group)
  }

  closeGroup(): void {
    const { rule, alternative } = this.#outer.pop() ?? { rule: '', alternative: '' }
    this.#rule = rule
    this.#alternative = alternative
    this.#isNeeded = true
  }

  addRule(rule: string): void {
    this.#needs.get(this.#alternative)?.push([rule])
    const uses = this.#uses.get(this.#rule)
    if (uses === undefined) this.#uses.set(this.#rule, [rule])
    else uses.push(rule)
    this.#isNeeded = true
  }

  /** Notes a string or a class. */
  addText({ isEmptyClass }: { readonly isEmptyClass: boolean }): void {
    if (isEmptyClass) this.#withEmptyClass.add(this.#rule)
    this.#isNeeded = false
  }

  /** Notes that the last item may be left out. */
  makeOptional(): void {
    if (this.#isNeeded) this.#needs.get(this.#alternative)?.pop()
    this.#isNeeded = false
  }

  /**
   * Returns why a generation may arrive at a place where the grammar allows no token; null if it cannot. It cannot if all
   * rules that `root` uses derive a text, and have no class without a character. The library leaves out no alternative.
   */
  findProblem(): string | null {
    const unproductive = findUnproductive(this.#needs)
    const reached = new Set(['root'])
    let dead: string | null = null
    // The set grows while it is read.
    for (const rule of reached) {
      if (this.#withEmptyClass.has(rule)) return 'expected no class that excludes every character'
      if (unproductive.has(rule) && !rule.startsWith('(')) dead = rule
      for (const used of this.#uses.get(rule) ?? []) reached.add(used)
    }
    return dead === null ? null : `the rule ${dead} derives no text, because it never ends`
  }
}

import { findUnproductive } from '#libs/json-schema/find-unproductive.ts'
import { excludesAll } from './excludes-all.ts'

/** The cost of compiling a grammar in the EBNF of the engine's grammar library (xgrammar). */
type ReadGrammar = {
  /** The reason why the library cannot compile the grammar, or null. */
  readonly problem: string | null
  /** How many steps the grammar's counted repetitions add. */
  readonly repeated: number
}

const MAX_COUNT = 128
/** The most levels of nested groups. The library reads groups by recursion. */
const MAX_LEVELS = 64

const NOT_EBNF =
  'expected rules such as root ::= "yes" | "no", with a rule root; grammars of other notations, such as those of ' +
  'llguidance (%llguidance) and Lark, are not supported'

/**
 * Reads a grammar from left to right, without recursion. A reference to a rule counts as one step, however many steps
 * the rule has, because the library compiles each rule once and not at each reference.
 */
export function readGrammar(source: string): ReadGrammar {
  const refuse = (problem: string): ReadGrammar => ({ problem, repeated: 0 })
  if (!/(?:^|\s)root\s*::=/.test(source)) return refuse(NOT_EBNF)
  const referred = new Set<string>()
  /** A group is a rule of its own. */
  const rules = new Map<string, Alternative[]>()
  const groups: { readonly steps: number; readonly rule: string; readonly here: Alternative }[] = []
  let rule = ''
  let here: Alternative = { needed: [], items: [] }
  let isNeeded = false
  let steps = 0
  let last = 0
  let repeated = 0

  function beginAlternative() {
    here = { needed: [], items: [] }
    rules.get(rule)?.push(here)
  }
  function begin(name: string) {
    rule = name
    if (!rules.has(name)) rules.set(name, [])
    beginAlternative()
    steps = 0
  }
  function need(name: string) {
    here.needed.push(name)
    here.items.push(name)
    isNeeded = true
  }
  /** Notes that the last item may be left out. */
  function makeOptional() {
    if (isNeeded) here.needed.pop()
    isNeeded = false
  }

  for (const { 0: text, groups: found } of source.matchAll(TOKEN)) {
    const { rule: head, name, count, other } = found ?? {}
    if (head !== undefined) {
      if (groups.length > 0) return refuse('expected ) before the next rule')
      begin(head.replace(/\s*::=$/, ''))
      last = 0
    } else if (count !== undefined) {
      const [least = 0, ...others] = count.split(',').map(Number)
      const most = Math.max(least, ...others)
      if (least === 0) makeOptional()
      if (most > MAX_COUNT) return refuse(`expected at most ${MAX_COUNT} repetitions`)
      const more = last * Math.max(0, most - 1)
      repeated += more
      steps += more
      last += more
    } else if (text === '(') {
      const group = `(${rules.size}`
      need(group)
      if (groups.push({ steps, rule, here }) > MAX_LEVELS)
        return refuse(`expected at most ${MAX_LEVELS} groups within each other`)
      begin(group)
    } else if (text === ')') {
      const outer = groups.pop()
      if (outer === undefined) return refuse('expected ( before )')
      ;({ rule, here } = outer)
      isNeeded = true
      last = steps
      steps += outer.steps
    } else if (text === '|') {
      beginAlternative()
    } else if (text === '*' || text === '?') {
      makeOptional()
    } else if (other !== undefined) {
      return refuse(`expected a rule, a string or a class, not ${JSON.stringify(other)}`)
    } else if (!/^(?:\s|#|\+)/.test(text)) {
      if (excludesAll(text)) return refuse('expected no class that excludes every character')
      isNeeded = false
      if (name !== undefined) {
        referred.add(name)
        need(name)
      } else if (text !== '""') here.items.push(null)
      last = 1
      steps += 1
    }
  }
  if (groups.length > 0) return refuse('expected ) at the end')
  const unknown = [...referred].find((name) => !rules.has(name))
  if (unknown !== undefined) return refuse(`there is no rule ${unknown}`)
  const dead = findDead(rules) ?? findCircle(rules)
  if (dead !== undefined) return refuse(`the rule ${dead} derives no text, because it never ends`)
  return { problem: null, repeated }
}

/** `needed`: the rules that must derive a text. `items` has the name of each rule, and null for each string or class. */
type Alternative = { readonly needed: string[]; readonly items: (string | null)[] }

function findDead(rules: ReadonlyMap<string, readonly Alternative[]>): string | undefined {
  const needs = [...rules].map(([name, all]) => [name, all.map(({ needed }) => needed)] as const)
  return [...findUnproductive(new Map(needs))].findLast((name) => !name.startsWith('('))
}

/**
 * Finds a rule that is nothing but itself, as in `a ::= b{0}` and `b ::= a`. The library follows such rules without end,
 * and takes the engine down.
 */
function findCircle(rules: ReadonlyMap<string, readonly Alternative[]>): string | undefined {
  const done = new Set<string>()
  for (const start of rules.keys()) {
    const path = new Set<string>()
    for (let name: string | null | undefined = start; name != null && !done.has(name);) {
      if (path.has(name)) return name
      path.add(name)
      const [alternative, other]: readonly Alternative[] = rules.get(name) ?? []
      name = other === undefined && alternative?.items.length === 1 ? alternative.items[0] : null
    }
    for (const name of path) done.add(name)
  }
  return undefined
}

const TOKEN = new RegExp(
  [
    String.raw`\s+`,
    '#[^\\n]*',
    String.raw`(?<rule>[A-Za-z_][\w.-]*\s*::=)`,
    String.raw`(?<name>[A-Za-z_][\w.-]*)`,
    String.raw`"(?:\\.|[^"\\\n])*"`,
    String.raw`\[(?:\\.|[^\]\\\n])*\]`,
    String.raw`\{(?<count>\d+(?:,\d*)?)\}`,
    '[()|*+?]',
    '(?<other>.)',
  ].join('|'),
  'gsu',
)

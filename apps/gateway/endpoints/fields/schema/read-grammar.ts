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
  /** The rules that each alternative of a rule needs. A group is a rule of its own. */
  const rules = new Map<string, string[][]>()
  const groups: { readonly steps: number; readonly rule: string; readonly needed: string[] }[] = []
  let rule = ''
  let needed: string[] = []
  let isNeeded = false
  let steps = 0
  let last = 0
  let repeated = 0

  const beginAlternative = () => void rules.get(rule)?.push((needed = []))
  function begin(name: string) {
    rule = name
    if (!rules.has(name)) rules.set(name, [])
    beginAlternative()
    steps = 0
  }
  function need(name: string) {
    needed.push(name)
    isNeeded = true
  }
  /** Notes that the last item may be left out. */
  function makeOptional() {
    if (isNeeded) needed.pop()
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
      if (groups.push({ steps, rule, needed }) > MAX_LEVELS)
        return refuse(`expected at most ${MAX_LEVELS} groups within each other`)
      begin(group)
    } else if (text === ')') {
      const outer = groups.pop()
      if (outer === undefined) return refuse('expected ( before )')
      ;({ rule, needed } = outer)
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
      }
      last = 1
      steps += 1
    }
  }
  if (groups.length > 0) return refuse('expected ) at the end')
  const unknown = [...referred].find((name) => !rules.has(name))
  if (unknown !== undefined) return refuse(`there is no rule ${unknown}`)
  const dead = [...findUnproductive(rules)].findLast((name) => !name.startsWith('('))
  if (dead !== undefined) return refuse(`the rule ${dead} derives no text, because it never ends`)
  return { problem: null, repeated }
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

import { excludesAll } from './excludes-all.ts'
import { GrammarRules } from './grammar-rules.ts'

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
  const defined = new Set<string>()
  const referred = new Set<string>()
  const groups: number[] = []
  const rules = new GrammarRules()
  let steps = 0
  let last = 0
  let repeated = 0
  for (const { 0: text, groups: found } of source.matchAll(TOKEN)) {
    const { rule, name, count, other } = found ?? {}
    if (rule !== undefined) {
      if (groups.length > 0) return refuse('expected ) before the next rule')
      const ruleName = rule.replace(/\s*::=$/, '')
      defined.add(ruleName)
      rules.open(ruleName)
      steps = 0
      last = 0
    } else if (count !== undefined) {
      const [least = 0, ...others] = count.split(',').map(Number)
      const most = Math.max(least, ...others)
      if (least === 0) rules.makeOptional()
      if (most > MAX_COUNT) return refuse(`expected at most ${MAX_COUNT} repetitions`)
      const more = last * Math.max(0, most - 1)
      repeated += more
      steps += more
      last += more
    } else if (text === '(') {
      if (groups.push(steps) > MAX_LEVELS)
        return refuse(`expected at most ${MAX_LEVELS} groups within each other`)
      steps = 0
      rules.openGroup()
    } else if (text === ')') {
      const outer = groups.pop()
      if (outer === undefined) return refuse('expected ( before )')
      last = steps
      steps += outer
      rules.closeGroup()
    } else if (text === '|') {
      rules.beginAlternative()
    } else if (text === '*' || text === '?') {
      rules.makeOptional()
    } else if (other !== undefined) {
      return refuse(`expected a rule, a string or a class, not ${JSON.stringify(other)}`)
    } else if (!/^(?:\s|#|\+)/.test(text)) {
      if (name === undefined) rules.addText({ isEmptyClass: excludesAll(text) })
      else {
        referred.add(name)
        rules.addRule(name)
      }
      last = 1
      steps += 1
    }
  }
  if (groups.length > 0) return refuse('expected ) at the end')
  const unknown = [...referred].find((name) => !defined.has(name))
  if (unknown !== undefined) return refuse(`there is no rule ${unknown}`)
  const problem = rules.findProblem()
  return problem === null ? { problem, repeated } : refuse(problem)
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

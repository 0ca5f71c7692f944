import { Template } from '@huggingface/jinja'
import { formatDate } from './python-dates.ts'
import { STRING_METHODS } from './python-strings.ts'
import { isPythonEqual, toPythonText, toRuntimeValue, type RuntimeValue } from './python-values.ts'

export type PythonTemplate = { readonly render: (values: Readonly<Record<string, unknown>>) => string }

/**
 * A chat template that says what it says in Python. The engine is JavaScript's and differs without a word: it prints
 * `true` for `True` and lists as JSON, compares lists by identity and `1` with `'1'`, and ignores arguments of `strip`.
 * So the parsed template is changed before it runs: what differs becomes calls of functions of ours. What the engine
 * lacks altogether (`%` with texts, `{% raw %}`, `a < b < c`, most filters with tests) still throws when it is parsed
 * or met. Where Python throws for an attribute of what is undefined, it is undefined. Throws for what is no Jinja.
 */
export function createPythonTemplate(source: string, now: () => Date): PythonTemplate {
  const template = new Template(source)
  template.parsed.body = rewriteBlock(template.parsed.body)
  const date: TemplateFunction = (values) => formatDate(now(), toPythonText(argument(values, 0)))
  return { render: (values) => template.render({ ...values, ...FUNCTIONS, '.now': date }) }
}

type TemplateFunction = (values: readonly unknown[]) => unknown

type Node = { readonly [key: string]: unknown; readonly type: string }

/** Names that no template can write. */
const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  '.text': (values) => toPythonText(argument(values, 0)),
  '.joined': (values) => values.map((value) => toPythonText(toRuntimeValue(value))).join(''),
  '.equal': (values) => isPythonEqual(argument(values, 0), argument(values, 1)),
  '.method'(values) {
    const [name, text, ...args] = values.map((value) => toRuntimeValue(value).value)
    return STRING_METHODS[String(name)]?.(String(text), ...args)
  },
  '.characters': (values) => Array.from(String(argument(values, 0).value)),
}

const argument = (values: readonly unknown[], place: number): RuntimeValue => toRuntimeValue(values[place])

const BLOCKS: ReadonlySet<string> = new Set(['body', 'alternate', 'defaultBlock'])

/** What is in a block and prints nothing of its own, or only plain text. */
const STATEMENTS: ReadonlySet<string> = new Set([
  'StringLiteral',
  'If',
  'For',
  'Set',
  'Macro',
  'CallStatement',
  'FilterStatement',
  'Break',
  'Continue',
  'Comment',
])

function rewriteBlock(block: readonly unknown[]): Node[] {
  return block.map((item) => {
    const node = rewrite(item)
    if (!isNode(node)) throw new Error('the template was parsed into something unknown')
    return STATEMENTS.has(node.type) ? node : call('.text', [node])
  })
}

function rewrite(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(rewrite)
  if (part instanceof Map) return new Map(Array.from(part, ([key, value]) => [rewrite(key), rewrite(value)]))
  if (!isNode(part)) return part
  const entries = Object.entries(part).map(([key, value]): [string, unknown] => [
    key,
    BLOCKS.has(key) && Array.isArray(value) ? rewriteBlock(value) : rewrite(value),
  ])
  return replace({ ...Object.fromEntries(entries), type: part.type })
}

function replace(node: Node): Node {
  if (node.type === 'BinaryExpression') return replaceOperator(node)
  if (node.type === 'FilterExpression') return replaceFilter(node)
  if (node.type === 'CallExpression') return replaceMethod(node)
  return node
}

function replaceOperator(node: Node): Node {
  const operator = isNode(node['operator']) ? node['operator']['value'] : null
  const sides = [node['left'], node['right']]
  if (operator === '~') return call('.joined', sides)
  if (operator === '==') return call('.equal', sides)
  return operator === '!=' ? not(call('.equal', sides)) : node
}

function replaceFilter(node: Node): Node {
  const { filter, operand } = node
  const name = isNode(filter) && filter.type === 'Identifier' ? filter['value'] : null
  if (name === 'string') return call('.text', [operand])
  if (name === 'capitalize' || name === 'title') return call('.method', [literal(name), operand])
  if (name !== 'first' && name !== 'last' && name !== 'list') return node
  return ifText(operand, { ...node, operand: call('.characters', [operand]) }, node)
}

/** A dictionary may have a method, or a key, of the same name. */
function replaceMethod(node: Node): Node {
  const { callee, args } = node
  if (isNode(callee) && callee['value'] === 'strftime_now' && Array.isArray(args)) return call('.now', args)
  if (!isNode(callee) || callee.type !== 'MemberExpression' || callee['computed'] === true) return node
  const name = isNode(callee['property']) ? callee['property']['value'] : null
  if (typeof name !== 'string' || !Object.hasOwn(STRING_METHODS, name) || !Array.isArray(args)) return node
  return ifText(callee['object'], call('.method', [literal(name), callee['object'], ...args]), node)
}

const call = (name: string, args: readonly unknown[]): Node => ({
  type: 'CallExpression',
  callee: { type: 'Identifier', value: name },
  // In a list they keep their types, which plain arguments of a function lose.
  args: [{ type: 'ArrayLiteral', value: args }],
})

const literal = (value: string): Node => ({ type: 'StringLiteral', value })

const not = (argument: Node): Node => ({ type: 'UnaryExpression', operator: { value: 'not' }, argument })

const ifText = (operand: unknown, trueExpr: Node, falseExpr: Node): Node => ({
  type: 'Ternary',
  condition: {
    type: 'TestExpression',
    operand,
    negate: false,
    test: { type: 'Identifier', value: 'string' },
  },
  trueExpr,
  falseExpr,
})

function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string'
}

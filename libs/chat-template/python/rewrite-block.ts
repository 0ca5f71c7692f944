import { rewriteLoop } from './rewrite-loop.ts'
import { ITEM } from './each-item.ts'
import { STRING_METHODS } from './string-methods.ts'
import { TESTS } from './jinja-tests.ts'
import {
  call,
  identifier,
  ifText,
  isNode,
  list,
  literal,
  nodesOf,
  not,
  orElse,
  type Node,
} from './template-nodes.ts'

/**
 * Rewrites a block of a parsed template so that it has Python's meaning. The result calls the functions of
 * `python-template.ts`, whose names begin with a dot.
 */
export function rewriteBlock(block: readonly unknown[]): Node[] {
  return block.flatMap((item) => {
    const node = rewrite(item)
    if (!isNode(node)) throw new Error('the parsed template contains a part of an unknown kind')
    if (node.type === 'For') return rewriteLoop(node)
    return STATEMENTS.has(node.type) ? [node] : [call('.text', [node])]
  })
}

const BLOCKS: ReadonlySet<string> = new Set(['body', 'alternate', 'defaultBlock'])

/** Parts of a block that print nothing, or constant text; every other part prints a value. */
const STATEMENTS: ReadonlySet<string> = new Set([
  'StringLiteral',
  'If',
  'Set',
  'Macro',
  'CallStatement',
  'FilterStatement',
  'Break',
  'Continue',
  'Comment',
])

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
  switch (node.type) {
    case 'BinaryExpression':
      return replaceOperator(node)
    case 'FilterExpression':
      return replaceFilter(node)
    case 'TestExpression':
      return replaceTest(node)
    case 'CallExpression':
      return replaceMethod(node)
    case 'MemberExpression':
      return replaceKey(node)
    case 'ObjectLiteral':
      return replaceKeys(node)
    default:
      return node
  }
}

function replaceOperator(node: Node): Node {
  const operator = isNode(node['operator']) ? node['operator']['value'] : null
  const sides = [node['left'], node['right']]
  switch (operator) {
    case '+':
      return replaceSum(node)
    case '~':
      return call('.joined', sides)
    case '==':
      return call('.equal', sides)
    case '!=':
      return not(call('.equal', sides))
    case 'in':
      return call('.in', sides)
    case 'not in':
      return not(call('.in', sides))
    case '%':
      return call('.percent', sides)
    case '<':
      return call('.less', sides)
    case '>':
      return call('.less', sides.toReversed())
    case '<=':
      return not(call('.less', sides.toReversed()))
    case '>=':
      return not(call('.less', sides))
    default:
      return node
  }
}

/** Only strings can be added to a string; the Jinja library would convert any value. */
function replaceSum(node: Node): Node {
  const { left, right } = node
  return isText(left) || isText(right) ? call('.sum', [...partsOf(left), right]) : node
}

const isText = (part: unknown): boolean =>
  isNode(part) && (part.type === 'StringLiteral' || isSumOfTexts(part))

const isSumOfTexts = ({ callee }: Node): boolean => isNode(callee) && callee['value'] === '.sum'

function partsOf(part: unknown): unknown[] {
  if (!isNode(part)) return [part]
  if (isSumOfTexts(part)) return nodesOf(nodesOf(part['args'])[0]?.['value'])
  const isSum =
    part.type === 'BinaryExpression' && isNode(part['operator']) && part['operator']['value'] === '+'
  return isSum ? [...partsOf(part['left']), part['right']] : [part]
}

/** Filters before which Jinja converts the operand to a string. */
const TEXT_FILTERS: ReadonlySet<unknown> = new Set([
  'upper',
  'lower',
  'replace',
  'capitalize',
  'title',
  'trim',
])

/** Filters that read an undefined operand as an empty list. */
const LIST_FILTERS: ReadonlySet<unknown> = new Set(['list', 'map', 'selectattr', 'rejectattr'])

/** List filters that also read None, and every other false value, as an empty list. */
const LENIENT_FILTERS: ReadonlySet<unknown> = new Set(['map', 'selectattr', 'rejectattr'])

function replaceFilter(node: Node): Node {
  const { filter, operand } = node
  if (!isNode(filter)) return node
  const isCall = filter.type === 'CallExpression' && isNode(filter['callee']) && Array.isArray(filter['args'])
  const args = isCall && Array.isArray(filter['args']) ? filter['args'] : []
  const name = isCall && isNode(filter['callee']) ? filter['callee']['value'] : filter['value']
  const text = call('.text', [operand])
  if (name === 'string') return text
  if (name === 'trim') return call('.method', [literal('strip'), text, ...args])
  if (name === 'capitalize') return call('.method', [literal(name), text])
  if (name === 'title') return call('.title', [text])
  if (TEXT_FILTERS.has(name)) return { ...node, operand: text }
  if (name === 'tojson') return call('.json', [node])
  if (name === 'format') return call('.percent', [text, { type: 'TupleLiteral', value: args }])
  if (name === 'map' && nodesOf(args)[0]?.type === 'StringLiteral')
    return replaceEach(operand, '.map', nodesOf(args))
  if (name === 'select' || name === 'reject') return replaceEach(operand, `.${name}`, nodesOf(args))
  if (name === 'length' || name === 'count') return call('.length', [operand])
  if (name === 'join') return { ...node, operand: call('.texts', [operand]) }
  if (name === 'items')
    return { ...node, operand: orElse(operand, { type: 'ObjectLiteral', value: new Map() }) }
  const some = LIST_FILTERS.has(name)
    ? { ...node, operand: orElse(operand, list([]), { orFalse: LENIENT_FILTERS.has(name) }) }
    : node
  if (name !== 'first' && name !== 'last' && name !== 'list') return some
  return ifText(operand, { ...node, operand: call('.characters', [operand]) }, some)
}

/**
 * Replaces `map` with a filter, and `select` and `reject`, which the Jinja library lacks. The filter or the test becomes
 * an expression of `ITEM`, which the function `name` evaluates for each item. A literal node holds the expression: the
 * Jinja library evaluates every literal to its value.
 */
function replaceEach(
  operand: unknown,
  name: '.map' | '.select' | '.reject',
  [first, ...args]: readonly Node[],
): Node {
  const isKeyword = (arg: Node) => arg.type === 'KeywordArgumentExpression'
  const values = args.map((arg) => (isKeyword(arg) ? arg['value'] : arg))
  const named = args.map((arg, place) => {
    const value = identifier(`${ITEM}.${place}`)
    return isKeyword(arg) ? { ...arg, value } : value
  })
  const item = identifier(ITEM)
  const part = identifier(String(first?.['value']))
  const expression =
    name === '.map'
      ? replaceFilter({
          type: 'FilterExpression',
          operand: item,
          filter: args.length === 0 ? part : { type: 'CallExpression', callee: part, args: named },
        })
      : first === undefined
        ? not(not(item))
        : args.length === 0
          ? replaceTest({ type: 'TestExpression', operand: item, negate: false, test: part })
          : call('.test', [first, item, ...named])
  return call(name, [
    { ...literal(''), value: expression },
    orElse(operand, list([]), { orFalse: true }),
    ...values,
  ])
}

function replaceTest(node: Node): Node {
  const name = isNode(node['test']) ? node['test']['value'] : null
  if (typeof name !== 'string' || !Object.hasOwn(TESTS, name)) return node
  const test = call('.test', [literal(name), node['operand']])
  return node['negate'] === true ? not(test) : test
}

/**
 * Replaces calls of Python's methods by filters and by functions of `python-template.ts`. A dictionary may have a key
 * with the name of a dictionary's method, such as `items`. For a call of `items`, Python takes the method, but the
 * Jinja library would take the key. A call of a string method is replaced only if the value is a string. On a
 * dictionary, Python too takes the name of a string method as a key.
 */
function replaceMethod(node: Node): Node {
  const { callee, args } = node
  if (isNode(callee) && callee['value'] === 'strftime_now' && Array.isArray(args)) return call('.now', args)
  if (isNode(callee) && callee['value'] === 'raise_exception' && Array.isArray(args))
    return call('.raise', args)
  if (!isNode(callee) || callee.type !== 'MemberExpression' || callee['computed'] === true) return node
  const name = isNode(callee['property']) ? callee['property']['value'] : null
  if (typeof name !== 'string' || !Array.isArray(args)) return node
  const object = callee['object']
  const [first, second = identifier('none')] = nodesOf(args)
  if (name === 'items') return { type: 'FilterExpression', operand: object, filter: identifier('items') }
  if (name === 'keys') return call('.keys', [object])
  if (name === 'get' && first !== undefined) return getOwn(object, first, second)
  if (name === 'format') return ifText(object, call('.braces', [object, ...args]), node)
  if (!Object.hasOwn(STRING_METHODS, name)) return node
  return ifText(object, call('.method', [literal(name), object, ...args]), node)
}

/** Reads a dictionary's own key, never a function of the Jinja library. */
const getOwn = (object: unknown, key: Node, otherwise: Node): Node => ({
  type: 'Ternary',
  condition: call('.in', [key, object]),
  trueExpr: { type: 'MemberExpression', object, property: toOwnKey(key), computed: true },
  falseExpr: otherwise,
})

/** The methods that the Jinja library finds in every dictionary. */
const DICTIONARY_METHODS: ReadonlySet<unknown> = new Set(['get', 'items', 'keys', 'values', 'dictsort'])

function replaceKey(node: Node): Node {
  const { object, property } = node
  if (node['computed'] !== true || !isNode(property)) return node
  if (property.type === 'SliceExpression') return node
  if (property.type === 'StringLiteral') {
    const isMethod = DICTIONARY_METHODS.has(property['value'])
    return isMethod ? getOwn(object, property, identifier('.undefined')) : node
  }
  // Only a dictionary that has a name may have numbers as keys: other objects would have to be evaluated twice.
  const isNamed = isNode(object) && (object.type === 'Identifier' || object.type === 'ObjectLiteral')
  const owner = isNamed ? [object] : []
  const found = { ...node, property: call('.key', [property, ...owner]) }
  // The result of `split` is never a string, so `ifText` is not needed. It is left out because `ifText` evaluates its
  // operand twice, and many templates call `split` on a part of the result of another `split`.
  if (isSplit(object)) return found
  return ifText(object, { ...found, object: call('.characters', [object]) }, found)
}

/** A dictionary of the Jinja library has strings as keys only. */
function replaceKeys(node: Node): Node {
  if (!(node['value'] instanceof Map)) return node
  return { ...node, value: new Map(Array.from(node['value'], ([key, value]) => [toOwnKey(key), value])) }
}

/** A key of a dictionary, which may be a number. */
const toOwnKey = (key: unknown): unknown =>
  isNode(key) && key.type === 'StringLiteral' ? key : call('.ownKey', [key])

/** `split` returns a list, never a string. */
function isSplit(part: unknown): boolean {
  if (!isNode(part) || part.type !== 'CallExpression' || !isNode(part['callee'])) return false
  const { property } = part['callee']
  return isNode(property) && property['value'] === 'split'
}

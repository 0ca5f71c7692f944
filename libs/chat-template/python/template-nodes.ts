/** A part of a parsed template. It is plain data, because the Jinja library does not export the types of its nodes. */
export type Node = { readonly [key: string]: unknown; readonly type: string }

/** A call of a function of `python-template.ts`. */
export const call = (name: string, args: readonly unknown[]): Node => ({
  type: 'CallExpression',
  callee: identifier(name),
  // Values in a list keep the Jinja library's types; plain arguments would be converted to JavaScript's.
  args: [list(args)],
})

export const list = (items: readonly unknown[]): Node => ({ type: 'ArrayLiteral', value: items })

/**
 * Returns an expression that has the value of `operand`, or of `otherwise` if that value is undefined. With `orFalse`,
 * `otherwise` also takes the place of none, false, 0 and empty values.
 */
export const orElse = (operand: unknown, otherwise: Node, { orFalse = false } = {}): Node => ({
  type: 'FilterExpression',
  operand,
  filter: {
    type: 'CallExpression',
    callee: identifier('default'),
    args: [otherwise, ...(orFalse ? [identifier('true')] : [])],
  },
})

export const literal = (value: string): Node => ({ type: 'StringLiteral', value })

export const not = (argument: Node): Node => ({
  type: 'UnaryExpression',
  operator: { value: 'not' },
  argument,
})

export const ifText = (operand: unknown, trueExpr: Node, falseExpr: Node): Node => ({
  type: 'Ternary',
  condition: {
    type: 'TestExpression',
    operand,
    negate: false,
    test: identifier('string'),
  },
  trueExpr,
  falseExpr,
})

export function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string'
}

export const identifier = (value: string): Node => ({ type: 'Identifier', value })

export const set = (name: string, value: Node): Node => ({
  type: 'Set',
  assignee: identifier(name),
  value,
  body: [],
})

export const when = (test: Node, body: readonly Node[]): Node => ({ type: 'If', test, body, alternate: [] })

export const truth: Node = identifier('true')

export const nodesOf = (part: unknown): Node[] => (Array.isArray(part) ? part.filter(isNode) : [])

import {
  call,
  identifier,
  ifText,
  isNode,
  list,
  nodesOf,
  not,
  orElse,
  set,
  truth,
  when,
  type Node,
} from './template-nodes.ts'

/**
 * Rewrites a loop, whose parts are rewritten already. Returns the assignments that must precede the loop, and the loop.
 * The Jinja library differs from Python's Jinja in three ways:
 * - It iterates over lists only.
 * - A variable that one iteration has set keeps its value in the next iteration.
 * - The output of an iteration before `break` or `continue` is lost.
 *
 * So each iteration begins with the variables as they were before the loop. After `break` or `continue` the iteration
 * runs to its end without effect, and so do the iterations after a `break`.
 */
export function rewriteLoop(given: Node): Node[] {
  const loop = throughKeys(given)
  const body = nodesOf(loop['body'])
  const level = depthOf(body)
  const bound = new Set(['loop', ...namesIn(given['loopvar'])])
  const names = Array.from(new Set(body.flatMap(namesSetBy))).filter((name) => !bound.has(name))
  const before = (name: string) => `.before.${level}.${name}`
  const resets = names.map((name) => set(name, identifier(before(name))))
  const rounds = {
    ...loop,
    iterable: toIterable(loop['iterable']),
    body: withoutExits([...resets, ...body], level),
  }
  return [...names.map((name) => set(before(name), identifier(name))), rounds]
}

/**
 * Changes a loop over `dictsort`, so that it iterates over the dictionary's keys in the order of `.sortedKeys`. The
 * Jinja library would sort by the whole keys. But keys may contain noncharacters, which mark callers' texts and must
 * not change the order.
 */
function throughKeys(loop: Node): Node {
  const { iterable, loopvar } = loop
  const [key, value, ...others] = namesIn(loopvar)
  const isSorted =
    isNode(iterable) && isNode(iterable['filter']) && iterable['filter']['value'] === 'dictsort'
  if (!isSorted || key === undefined || value === undefined || others.length > 0) return loop
  const current = identifier('.current')
  const property = call('.ownKey', [current])
  const found = { type: 'MemberExpression', object: iterable['operand'], property, computed: true }
  return {
    ...loop,
    loopvar: current,
    iterable: call('.sortedKeys', [iterable['operand']]),
    body: [set(key, current), set(value, found), ...nodesOf(loop['body'])],
  }
}

/** A string is iterated by characters; an undefined value is empty. */
function toIterable(part: unknown): unknown {
  if (!isNode(part)) return part
  if (part.type === 'SelectExpression') return { ...part, lhs: toIterable(part['lhs']) }
  if (part.type !== 'ArrayLiteral') return ifText(part, call('.characters', [part]), orElse(part, list([])))
  // The Jinja library does not unpack tuples.
  return list(
    nodesOf(part['value']).map((item) =>
      item.type === 'TupleLiteral' ? list(nodesOf(item['value'])) : item,
    ),
  )
}

function withoutExits(body: readonly Node[], level: number): readonly Node[] {
  if (!body.some(hasExit)) return body
  const left = `.left.${level}`
  const ended = `.ended.${level}`

  function guard(block: readonly Node[]): Node[] {
    const place = block.findIndex(hasExit)
    const node = block[place]
    if (node === undefined) return [...block]
    const rest = guard(block.slice(place + 1))
    const after = rest.length === 0 ? [] : [when(not(identifier(left)), rest)]
    return [...block.slice(0, place), ...leave(node), ...after]
  }

  function leave(node: Node): Node[] {
    if (node.type === 'Continue') return [set(left, truth)]
    if (node.type === 'Break') return [set(left, truth), set(ended, truth)]
    return [{ ...node, body: guard(nodesOf(node['body'])), alternate: guard(nodesOf(node['alternate'])) }]
  }

  return [when(not(identifier(ended)), [set(left, not(truth)), ...guard(body)])]
}

/** Inner loops are rewritten already and have no exits left. */
function hasExit(node: Node): boolean {
  if (node.type === 'Break' || node.type === 'Continue') return true
  return node.type === 'If' && [...nodesOf(node['body']), ...nodesOf(node['alternate'])].some(hasExit)
}

/** Returns the template's own variables that are set in this scope. */
function namesSetBy(node: Node): string[] {
  if (node.type === 'If') return [...nodesOf(node['body']), ...nodesOf(node['alternate'])].flatMap(namesSetBy)
  return node.type === 'Set' ? namesIn(node['assignee']).filter((name) => !name.startsWith('.')) : []
}

function namesIn(target: unknown): string[] {
  if (!isNode(target)) return []
  if (target.type === 'Identifier') return [String(target['value'])]
  return target.type === 'TupleLiteral' ? nodesOf(target['value']).flatMap(namesIn) : []
}

/** Returns how deeply loops are nested. */
function depthOf(block: readonly Node[]): number {
  const depths = block.map((node) => {
    const inside = [...nodesOf(node['body']), ...nodesOf(node['alternate']), ...nodesOf(node['defaultBlock'])]
    return depthOf(inside) + (node.type === 'For' ? 1 : 0)
  })
  return Math.max(0, ...depths)
}

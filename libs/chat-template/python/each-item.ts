import { Environment, Interpreter } from '@huggingface/jinja'
import { isNode } from './template-nodes.ts'
import { itemsOf, toPlain, toRuntimeValue } from './runtime-value.ts'

/** The name of the current item in an expression that is evaluated for each item. No template can write it. */
export const ITEM = '.item'

/**
 * Evaluates an expression of `ITEM` for each item of a list. `values` are the expression, the list, and the values of
 * `.item.0`, `.item.1` and so on, which the expression may name. `functions` are those that it may call.
 */
export function evaluateEach(
  values: readonly unknown[],
  functions: Readonly<Record<string, unknown>>,
): { item: unknown; result: unknown }[] {
  const [expression, items, ...args] = values.map(toRuntimeValue)
  const node = expression?.value
  if (!isNode(node) || items === undefined) throw new Error('there is no expression, or no list')
  const names = { ...functions, true: true, none: null }
  const environment = new Environment()
  for (const [name, value] of Object.entries(names)) environment.set(name, value)
  for (const [place, value] of args.entries()) environment.set(`${ITEM}.${place}`, toPlain(value))
  return itemsOf(items).map((value) => {
    const scope = new Environment(environment)
    const item = toPlain(value)
    scope.set(ITEM, item)
    return { item, result: toPlain(toRuntimeValue(new Interpreter(scope).evaluate(node, scope))) }
  })
}

/** String methods whose work grows with the text that they are called on. */
const METHODS = [
  'indexOf',
  'lastIndexOf',
  'includes',
  'slice',
  'trim',
  'trimStart',
  'trimEnd',
  'search',
  'replace',
  'split',
]

/**
 * Counts the characters that string methods and regular expressions get while `run` runs, and the reads of single
 * characters: an upper bound for the work, the same on every machine.
 */
export function countWork(run: () => void): number {
  let characters = 0
  const restore = [
    ...METHODS.map((name) => wrap(String.prototype, name, (text) => (characters += text.length))),
    wrap(String.prototype, 'charCodeAt', () => (characters += 1)),
    wrap(RegExp.prototype, 'exec', (_, text) => (characters += String(text).length)),
  ]
  try {
    run()
  } finally {
    for (const undo of restore) undo()
  }
  return characters
}

/** Wraps a method with a counter; returns the function that restores the method. */
function wrap(prototype: object, name: string, count: (self: string, argument: unknown) => void): () => void {
  const original = Object.getOwnPropertyDescriptor(prototype, name)
  if (original === undefined) throw new Error(`no method ${name}`)
  const method: (...args: unknown[]) => unknown = original.value
  Object.defineProperty(prototype, name, {
    ...original,
    value(this: string, ...args: unknown[]) {
      count(this, args[0])
      return method.apply(this, args)
    },
  })
  return () => Object.defineProperty(prototype, name, original)
}

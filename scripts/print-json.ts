/**
 * Returns plain JSON with a newline at its end. An object or array for which `isOpened` is true has one entry per line.
 * Every other value is written on one line, so that a change of it is a change of one line.
 */
export function printJson(value: unknown, isOpened: (value: object) => boolean): string {
  return `${print(value, '')}\n`

  function print(part: unknown, indent: string): string {
    if (typeof part !== 'object' || part === null) return JSON.stringify(part)
    const entries = Array.isArray(part)
      ? part.map((item: unknown) => ['', item] as const)
      : Object.entries(part).map(([name, item]) => [`${JSON.stringify(name)}: `, item] as const)
    const [open, close] = Array.isArray(part) ? ['[', ']'] : ['{', '}']
    if (entries.length === 0) return open + close
    const inner = isOpened(part) ? `${indent}  ` : indent
    const texts = entries.map(([name, item]) => name + print(item, inner))
    if (inner !== indent) return `${open}\n${inner}${texts.join(`,\n${inner}`)}\n${indent}${close}`
    return Array.isArray(part) ? `[${texts.join(', ')}]` : `{ ${texts.join(', ')} }`
  }
}

/**
 * Matches one token, which is one of:
 * - white space and comments that begin with `--`,
 * - the beginning of a block comment,
 * - a string or a quoted name,
 * - the beginning of a dollar quote,
 * - a word,
 * - any other character.
 */
const TOKEN =
  /(?<space>(?:\s|--[^\n]*)+)|(?<block>\/\*)|(?<text>\b[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*")|(?<dollar>\$(?:[A-Za-z_]\w*)?\$)|(?<word>[A-Za-z_][\w$]*)|(?<other>.)/gs

/** A dollar quote after one of these words contains code. */
const BEFORE_CODE: ReadonlySet<string> = new Set(['as', 'do'])

/**
 * Returns SQL without comments and with one space in place of each run of white space, so that two texts that differ
 * only in comments and white space become equal. Strings and quoted names stay as they are. A dollar quote with the
 * code of a function or of a `do` block is normalized in the same way; every other dollar quote stays as it is. Throws
 * a SyntaxError for a block comment or a dollar quote without an end.
 */
export function normalizeSql(sql: string): string {
  const parts: string[] = []
  let word = ''
  const token = new RegExp(TOKEN)
  for (let match = token.exec(sql); match !== null; match = token.exec(sql)) {
    const { space, block, dollar } = match.groups ?? {}
    const [text] = match
    if (space !== undefined) {
      parts.push(' ')
      continue
    }
    if (block !== undefined) {
      token.lastIndex = endOfComment(sql, match.index)
      parts.push(' ')
      continue
    }
    if (dollar === undefined) {
      parts.push(text)
    } else {
      const end = sql.indexOf(dollar, token.lastIndex)
      if (end === -1) throw new SyntaxError(`${dollar} has no end`)
      const quoted = sql.slice(token.lastIndex, end)
      parts.push(dollar, BEFORE_CODE.has(word) ? normalizeSql(quoted) : quoted, dollar)
      token.lastIndex = end + dollar.length
    }
    word = text.toLowerCase()
  }
  return collapse(parts)
}

/** Block comments may be nested. */
function endOfComment(sql: string, start: number): number {
  const edge = /\/\*|\*\//g
  edge.lastIndex = start
  let depth = 0
  for (let match = edge.exec(sql); match !== null; match = edge.exec(sql)) {
    depth += match[0] === '/*' ? 1 : -1
    if (depth === 0) return edge.lastIndex
  }
  throw new SyntaxError('a comment has no end')
}

function collapse(parts: readonly string[]): string {
  return parts
    .filter((part, index) => part !== ' ' || parts[index - 1] !== ' ')
    .join('')
    .trim()
}

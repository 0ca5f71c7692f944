/** A runnable block of a document, with its output if the document shows it. */
export type DocExample = {
  readonly language: string
  readonly code: string
  /** The expected output, in which `…` stands for text that varies. Null if the document does not show the output. */
  readonly expected: string | null
  /** The line number of the block's first line of code. */
  readonly line: number
}

const FENCE = /^```(\w*)$/u

/**
 * Returns the blocks of a Markdown document in the given languages. A block of the language `text` that follows such a
 * block, with at most one line between the two, is its output.
 */
export function readExamples(markdown: string, languages: readonly string[]): DocExample[] {
  const blocks = readBlocks(markdown.split('\n'))
  return blocks.flatMap((block, index) => {
    if (!languages.includes(block.language)) return []
    const next = blocks[index + 1]
    const shown = next?.language === 'text' && next.line - block.end <= 3
    const { language, code, line } = block
    return [{ language, code, expected: shown ? next.code : null, line }]
  })
}

/**
 * Returns true if `printed` matches `expected`. In `expected`, `…` within a line stands for any part of the line, and a
 * line of `…` alone stands for any number of lines.
 */
export function matchesOutput(printed: string, expected: string): boolean {
  const pattern = expected
    .trim()
    .split('\n')
    .map((line) =>
      line.trim() === '…' ? '(?:.*\\n?)*?' : `${line.split('…').map(RegExp.escape).join('.*?')}\\n`,
    )
    .join('')
  return new RegExp(`^${pattern}$`, 'u').test(`${printed.trim()}\n`)
}

type Block = { language: string; code: string; line: number; end: number }

function readBlocks(lines: readonly string[]): Block[] {
  const blocks: Block[] = []
  let open: { language: string; start: number } | null = null
  for (const [index, line] of lines.entries()) {
    const fence = FENCE.exec(line)
    if (fence === null) continue
    if (open === null) open = { language: fence[1] ?? '', start: index + 1 }
    else {
      const code = lines.slice(open.start, index).join('\n')
      blocks.push({ language: open.language, code, line: open.start + 1, end: index + 1 })
      open = null
    }
  }
  if (open !== null) throw new Error(`the block of line ${open.start} is never closed`)
  return blocks
}

/**
 * A table of figures. The rows are in the order in which they were first added. A cell has one value for each round.
 */
export class Table {
  readonly #sides: readonly string[]
  readonly #rows = new Map<string, Map<string, string[]>>()

  constructor(sides: readonly string[]) {
    this.#sides = sides
  }

  add(row: string, side: string, value: string): void {
    const places = this.#rows.get(row) ?? new Map<string, string[]>()
    places.set(side, [...(places.get(side) ?? []), value])
    this.#rows.set(row, places)
  }

  toMarkdown(): string {
    const lines = Array.from(this.#rows, ([row, places]) => [
      row,
      ...this.#sides.map((side) => places.get(side)?.join(' · ') ?? '–'),
    ])
    const head = [
      ['', ...this.#sides],
      ['---', ...this.#sides.map(() => '---')],
    ]
    return [...head, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  }
}

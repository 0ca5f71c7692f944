/** The last word of a field's name is left out of its title if it is one of these words. */
const SILENT = new Set(['nano', 'id', 'at', 'tokens', 'seq'])

const UNITS: Readonly<Record<string, string>> = { ms: 'ms', seconds: 's' }

/** Returns the words of a field's name, in small letters: `lastUsedAt` has `last`, `used` and `at`. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase()
    .split(' ')
}

/** Returns the title of a field: `last used` of `lastUsedAt`, `cost` of `costNano`, `waited (ms)` of `waitedMs`. */
export function toTitle(name: string): string {
  const words = wordsOf(name)
  const [last = '', others] = [words.at(-1), words.slice(0, -1)]
  if (others.length === 0) return last
  if (SILENT.has(last)) return others.join(' ')
  const unit = UNITS[last]
  return unit === undefined ? words.join(' ') : `${others.join(' ')} (${unit})`
}

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const BOUND = /\[`(\w+)` (\d+)\]\(([\w./-]+)\)/g

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** Returns the value of a constant or of the default of a setting; null if the file does not have it. */
function valueOf(name: string, text: string): number | null {
  const setting = new RegExp(`^  ${name}: z\\b[^,]*?\\.default\\(([^)]+)\\)`, 'm').exec(text)
  const constant = new RegExp(`^const ${name} = (.+)$`, 'm').exec(text)
  const source = (setting ?? constant)?.[1]?.replace('LARGEST_BODY_BYTES', '33_554_432')
  if (source === undefined) return null
  return source.split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1)
}

test('the bounds that SECURITY.md lists are those of the code', () => {
  const bounds = [...read('SECURITY.md').matchAll(BOUND)]
  expect(bounds.length).toBeGreaterThan(20)
  for (const [, name = '', value, path = ''] of bounds) {
    expect([path, name, valueOf(name, read(path))]).toEqual([path, name, Number(value)])
  }
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CatalogPaths, readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { modelSpec } from '../../../support/model-spec.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'catalog-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

const catalogOf = (...ids: string[]) => JSON.stringify({ models: ids.map((id) => modelSpec({ id })) })

test('several files are one catalog, in their order', async () => {
  const first = await write('first.json', catalogOf('b', 'a'))
  const second = await write('second.json', catalogOf('c'))
  expect((await readCatalogFiles([first, second])).map(({ id }) => id)).toEqual(['b', 'a', 'c'])
})

test('an id that two files have is refused with the later file and the id', async () => {
  const first = await write('first.json', catalogOf('a'))
  const second = await write('second.json', catalogOf('b', 'a'))
  await expect(readCatalogFiles([first, second])).rejects.toThrow(`${second} has the model a,`)
})

test('a file that is no catalog is refused with its name and the reason', async () => {
  const path = await write('wrong.json', '{')
  await expect(readCatalogFiles([path])).rejects.toThrow(`${path} is not JSON`)
  await write('wrong.json', JSON.stringify({ models: [{ ...modelSpec(), outputPriceNano: 1.5 }] }))
  await expect(readCatalogFiles([path])).rejects.toThrow(/wrong.json is not a catalog: .*outputPriceNano/s)
  await write('wrong.json', catalogOf('a', 'a'))
  await expect(readCatalogFiles([path])).rejects.toThrow('model ids must be unique')
  await expect(readCatalogFiles([join(folder, 'nowhere.json')])).rejects.toThrow('nowhere.json')
})

test('a variable names one file or several', () => {
  expect(CatalogPaths.parse('a.json')).toEqual(['a.json'])
  expect(CatalogPaths.parse('a.json, b.json')).toEqual(['a.json', 'b.json'])
  expect(CatalogPaths.safeParse('a.json,,b.json').success).toBe(false)
})

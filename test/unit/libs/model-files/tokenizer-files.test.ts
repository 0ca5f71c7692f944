import { expect, it } from 'vitest'
import { hashTokenizerFiles, readTokenizerFolder } from '#libs/model-files/tokenizer-files.ts'

const of = (files: Record<string, string>) =>
  hashTokenizerFiles(new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])))

it('equal files have equal hashes, in whatever order they come', () => {
  expect(of({ a: '1', b: '2' })).toBe(of({ b: '2', a: '1' }))
  const others = [{ a: '1' }, { a: '2', b: '1' }, { a: '12', b: '' }, { a: '1b', '': '2' }, { ab: '12' }]
  const hashes = [{ a: '1', b: '2' }, ...others].map((files) => of(files))
  expect(new Set(hashes).size).toBe(hashes.length)
})

it('a folder gives the files that describe a tokenizer, and no others', async () => {
  const names = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json']
  expect([...(await readTokenizerFolder('models/tiny')).keys()]).toEqual(names)
  await expect(readTokenizerFolder('models')).rejects.toThrow('there is no models/tokenizer.json')
})

import { cp, mkdtemp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { ModelFamily } from '#libs/contracts/model-family.ts'
import { loadModel } from '#libs/text/load-model.ts'
import { readTokenizerFolder } from '#libs/tokenizer-files/tokenizer-files.ts'

const folder = await mkdtemp(join(tmpdir(), 'millrace-models-'))
afterAll(async () => await rm(folder, { recursive: true }))

const families = (await readdir('models/families')).filter((name) => name.endsWith('.json'))

it('every family of the repository can be read, and there are many', async () => {
  expect(families.length).toBeGreaterThan(15)
  const unread = []
  for (const name of families) {
    const text = await readFile(join('models/families', name), 'utf8')
    if (!ModelFamily.safeParse(JSON.parse(text)).success) unread.push(name)
  }
  expect(unread).toEqual([])
})

it('loads a model, its family and its tokenizer', async () => {
  const { family, folder: files, tokenizer } = await loadModel('models', 'demo-reasoning')
  expect(family.reasoning).toEqual({ open: '<think>', close: '</think>' })
  expect(files).toBe('models/tiny')
  expect(tokenizer.tokenId('<think>')).toBe(2005)
})

it('asks for the files of a model that names no folder', async () => {
  const { family } = JSON.parse(await readFile('models/demo.json', 'utf8'))
  await mkdir(join(folder, 'families'), { recursive: true })
  await cp(`models/families/${family}.json`, join(folder, 'families', `${family}.json`))
  await writeFile(join(folder, 'remote.json'), JSON.stringify({ family }))
  const fetchFiles = async () => await readTokenizerFolder('models/tiny')
  const { folder: none, tokenizer } = await loadModel(folder, 'remote', { fetchFiles })
  expect([none, tokenizer.tokenId('<think>')]).toEqual([null, 2005])
  await expect(loadModel(folder, 'remote')).rejects.toThrow(/remote\.json names no folder/)
})

it('names the file that is missing or wrong', async () => {
  await mkdir(join(folder, 'families'), { recursive: true })
  await writeFile(join(folder, 'away.json'), '{ "family": "../x", "folder": "tiny" }')
  await writeFile(join(folder, 'lost.json'), '{ "family": "none", "folder": "tiny" }')
  await writeFile(
    join(folder, 'families', 'none.json'),
    '{ "about": "x", "reasoning": "harmony", "toolCalls": "none" }',
  )
  await expect(loadModel(folder, 'nothing')).rejects.toThrow(/nothing\.json/)
  await expect(loadModel(folder, 'away')).rejects.toThrow(/away\.json/)
  await expect(loadModel(folder, 'lost')).rejects.toThrow(/none\.json|tokenizer\.json/)
})

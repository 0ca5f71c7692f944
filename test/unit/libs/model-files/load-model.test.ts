import { cp, mkdtemp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ModelFamily } from '#libs/dialect/family.ts'
import { loadModel } from '#libs/model-files/load-model.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'

const folder = await mkdtemp(join(tmpdir(), 'millrace-models-'))
afterAll(async () => await rm(folder, { recursive: true }))

const NO_SWITCHES = { off: {}, low: {}, high: {}, max: {} }

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
  const fetchFiles = async () => await readModelFolder('models/tiny')
  const { folder: none, tokenizer } = await loadModel(folder, 'remote', { fetchFiles })
  expect([none, tokenizer.tokenId('<think>')]).toEqual([null, 2005])
  await expect(loadModel(folder, 'remote')).rejects.toThrow(/remote\.json names no folder/)
})

describe('a model and its family', () => {
  const FAMILY = { about: 'x', reasoning: 'none', toolCalls: 'none', callIds: 'opaque', effort: NO_SWITCHES }

  async function load(family: object, files: object, options: Parameters<typeof loadModel>[2] = {}) {
    await mkdir(join(folder, 'families'), { recursive: true })
    await cp('models/tiny', join(folder, 'tiny'), { recursive: true })
    await writeFile(join(folder, 'families', 'own.json'), JSON.stringify({ ...FAMILY, ...family }))
    await writeFile(join(folder, 'own.json'), JSON.stringify({ family: 'own', folder: 'tiny', ...files }))
    return await loadModel(folder, 'own', options)
  }

  it('end turns together', async () => {
    const { endIds } = await load({ stopTokens: ['<|im_start|>', '<|eot_id|>'] }, {})
    expect(endIds).toEqual(new Set([2000, 2001, 2002]))
  })

  it('are sampled as the model’s own files say, and without such a file as its family does', async () => {
    const defaults = { temperature: 0.15, minP: 0.05 }
    const { generationDefaults, samplingDefaults } = await load({ defaults }, {})
    expect(samplingDefaults).toMatchObject({ temperature: 0.7, topP: 0.8, topK: 20 })
    expect(samplingDefaults).toEqual(generationDefaults)

    const files = new Map(await readModelFolder('models/tiny'))
    files.delete('generation_config.json')
    const own = await load({ defaults }, { folder: undefined }, { fetchFiles: async () => files })
    expect(own.samplingDefaults).toEqual(defaults)
  })

  it('have no default for a field that is not sampling', async () => {
    await expect(load({ defaults: { seed: 1 } }, {})).rejects.toThrow(/own\.json cannot be used/)
  })

  it('may have another template than the files, also where they share a tokenizer', async () => {
    const shared = await loadTokenizer('models/tiny')
    const toTokenizer = async () => shared
    await mkdir(join(folder, 'templates'), { recursive: true })
    await writeFile(join(folder, 'templates', 'short.jinja'), '{{ messages[0].content }}')
    const files = { chatTemplate: 'templates/short.jinja' }
    const { template: own } = await load({}, {}, { toTokenizer })
    const { template } = await load({}, files, { toTokenizer })
    expect(template.source).toBe('{{ messages[0].content }}')
    expect(own.source).toContain('<|im_start|>')
  })

  it('may have another template than their own chat_template.jinja', async () => {
    await writeFile(join(folder, 'short.jinja'), 'short')
    const found = await readModelFolder('models/tiny')
    const files = new Map([...found, ['chat_template.jinja', Buffer.from('long')]])
    const fetchFiles = async () => files
    const own = await load({}, { folder: undefined, chatTemplate: 'short.jinja' }, { fetchFiles })
    expect(own.template.source).toBe('short')
  })

  it.for(['../x.jinja', 'tiny/../../x.jinja', '/etc/passwd', 'tiny//x.jinja', '.x', './x', ''])(
    'have no template outside the folder: %j',
    async (chatTemplate) => {
      await expect(load({}, { chatTemplate })).rejects.toThrow(/own\.json cannot be used/)
    },
  )

  it('name the missing template in the error', async () => {
    await expect(load({}, { chatTemplate: 'lost.jinja' })).rejects.toThrow(/lost\.jinja cannot be read/)
  })
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

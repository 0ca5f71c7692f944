import { copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { matchesOutput, readExamples } from '#test/support/doc-examples.ts'
import { freePort } from '#test/support/free-port.ts'
import { startApp, type RunningApp } from '#test/support/processes.ts'
import { scratchFolder } from '#test/support/run-folder.ts'
import { millrace, spawnMillrace } from './millrace.ts'

const examples = readExamples(await readFile('docs/models.md', 'utf8'), ['sh'])

const models = join(scratchFolder('models'), 'models')
let simulator: RunningApp
let engine = ''

beforeAll(async () => {
  await mkdir(models, { recursive: true })
  await cp('models/families', join(models, 'families'), { recursive: true })
  engine = `127.0.0.1:${await freePort()}`
  const engines = JSON.stringify([{ listen: engine, model: 'demo', files: 'demo' }])
  simulator = await startApp('simulator', { SIMULATOR_ENGINES: engines })
})

afterAll(async () => await simulator.stop())

/**
 * Runs a command in a scratch folder, against this test's engine. The tiny model's reference replaces Python's output.
 */
async function run(code: string): Promise<string> {
  if (code.startsWith('npm run references -- models/')) {
    const name = code.trim().split('/').at(-1) ?? ''
    await copyFile('models/tiny/chat-reference.json', join(models, name, 'chat-reference.json'))
    return ''
  }
  const words = code.trim().replace('127.0.0.1:50051', engine).split(' ')
  expect(words.slice(0, 2)).toEqual(['npx', 'millrace'])
  const { code: exit, stdout, stderr } = await spawnMillrace([...words.slice(2), '--models-dir', models])
  return `${stdout}${stderr}${exit === 0 ? '' : `exit code ${exit}`}`
}

describe('docs/models.md', () => {
  it('has examples', () => expect(examples.length).toBeGreaterThan(3))

  it.for(examples)('the command of line $line prints the text of the page', async ({ code, expected }) => {
    const printed = await run(code)
    expect(expected === null || matchesOutput(printed, expected), `${printed}\nis not\n\n${expected}`).toBe(
      true,
    )
  })
})

describe('a model whose prompts differ', () => {
  it('is refused with the first difference shown', async () => {
    await millrace(['models', 'add', 'other', '--from', 'models/tiny', '--models-dir', models])
    const reference = await readFile('models/tiny/chat-reference.json', 'utf8')
    const path = join(models, 'other', 'chat-reference.json')
    await writeFile(path, reference.replace('Be brief.', 'Be short.'))
    const { code, stdout } = await millrace(['models', 'check', 'other', '--models-dir', models])
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^system and user: the prompt differs at character \d+: transformers has ".*brief.*here it is ".*short/,
    )
  })

  it('is refused as well when only the template of its file differs', async () => {
    await millrace(['models', 'add', 'again', '--from', 'models/tiny', '--models-dir', models])
    await copyFile('models/tiny/chat-reference.json', join(models, 'again', 'chat-reference.json'))
    await writeFile(join(models, 'again', 'loud.jinja'), '{{ messages[0].content | upper }}')
    const file = { family: 'qwen3', folder: 'again', chatTemplate: 'again/loud.jinja' }
    await writeFile(join(models, 'again.json'), JSON.stringify(file))
    const { code, stdout } = await millrace(['models', 'check', 'again', '--models-dir', models])
    expect(code).toBe(1)
    expect(stdout).toContain('here it is "BE BRIEF.')
  })

  it('is reported in one line that names the wrong file', async () => {
    await millrace(['models', 'add', 'wrong', '--from', 'models/tiny', '--models-dir', models])
    await copyFile('models/tiny/chat-reference.json', join(models, 'wrong', 'chat-reference.json'))
    await writeFile(join(models, 'wrong', 'broken.jinja'), '{{ messages')
    const wrong = [
      [
        { family: 'qwen3', chatTemplate: 'wrong/broken.jinja' },
        'the chat template cannot be parsed: Unexpected end',
      ],
      [{ family: 'qwen3', chatTemplate: 'wrong/lost.jinja' }, 'lost.jinja cannot be read'],
      [{ family: 'nonsense' }, 'nonsense.json cannot be used: ENOENT'],
      [{ family: 'qwen3', template: 'x' }, 'Unrecognized key: "template"'],
    ] as const
    for (const [file, stderr] of wrong) {
      await writeFile(join(models, 'wrong.json'), JSON.stringify({ folder: 'wrong', ...file }))
      const ended = await millrace(['models', 'check', 'wrong', '--models-dir', models])
      expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(stderr) })
    }
  })

  it('without a reference is refused with the command that makes one, and an existing model is not overwritten', async () => {
    const add = ['models', 'add', 'third', '--from', 'models/tiny', '--models-dir', models]
    expect((await millrace(add)).code).toBe(0)
    expect(await millrace(['models', 'check', 'third', '--models-dir', models])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/There is no .*chat-reference\.json: make it with npm run references/),
    })
    expect(await millrace(add)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is a model third'),
    })
  })

  it('and a wrong model is refused before a file is written', async () => {
    const refused = [
      [['x', '--from', 'docs'], 1, 'there is no docs/tokenizer.json'],
      [['x', '--from', 'test/fixtures/tokenizers/unigram'], 1, 'give --family'],
      [['x', '--from', 'models/tiny', '--family', 'nonsense'], 1, 'nonsense.json cannot be used'],
      [['x', '--engine', '127.0.0.1:1'], 1, 'sent no usable model files'],
      [['../x', '--from', 'models/tiny'], 2, 'is not a file name'],
      [['x'], 2, 'either --from or --engine'],
    ] as const
    for (const [words, code, stderr] of refused) {
      const ended = await millrace(['models', 'add', ...words, '--models-dir', models])
      expect(ended).toMatchObject({ code, stderr: expect.stringContaining(stderr) })
    }
    await expect(readFile(join(models, 'x.json'))).rejects.toThrow('ENOENT')
  })
})

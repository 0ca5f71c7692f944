import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { openEncoder } from '#libs/tokenizer/encoding/open-encoder.ts'
import { referenceTokenizers } from '../reference-tokenizers.ts'

const [byteLevel] = referenceTokenizers

/** Where native code cannot be loaded, as on a platform for which there is none. */
const SCRIPT = `
  import { readFileSync } from 'node:fs'
  import { pino } from 'pino'
  import { openEncoder } from '#libs/tokenizer/encoding/open-encoder.ts'
  import { parseTokenizerFile } from '#libs/tokenizer/tokenizer-file.ts'
  const file = parseTokenizerFile(readFileSync('${byteLevel?.folder}/tokenizer.json', 'utf8'))
  const encoder = await openEncoder(file, pino(pino.destination({ dest: 2, sync: true })))
  const [ids] = await encoder.encode(['Hello <|im_end|>'], { whole: false })
  console.log(JSON.stringify({ name: encoder.name, ids: [...ids] }))
  await encoder.close()
`

it('is the native one, and the one in JavaScript where that cannot be loaded', async () => {
  if (byteLevel === undefined) throw new Error('there is no tokenizer')
  const encoder = await openEncoder(byteLevel.file, pino({ level: 'silent' }))
  const [ids] = await encoder.encode(['Hello <|im_end|>'], { whole: false })
  expect(encoder.name).toBe('native')

  const run = promisify(execFile)(process.execPath, ['--no-addons', '--eval', SCRIPT])
  const { stdout, stderr } = await run
  expect(JSON.parse(stdout)).toEqual({ name: 'javascript', ids: [...(ids ?? [])] })
  expect(stderr).toContain('texts are tokenized in JavaScript')
})

it('throws for a tokenizer of no use instead of trying the other one', async () => {
  const file = {
    json: '{}',
    tokens: [],
    unknownId: null,
    addedTokens: [],
    decoder: null,
    prependsFirst: false,
  }
  await expect(openEncoder(file, pino({ level: 'silent' }))).rejects.toThrow(/Model missing/)
})

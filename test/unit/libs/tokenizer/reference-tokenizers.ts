import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseTokenizerFile } from '#libs/tokenizer/tokenizer-file.ts'

const FOLDER = 'test/fixtures/tokenizers'

const Ids = z.array(z.int())

const Reference = z.object({
  texts: z.array(z.object({ ids: Ids, wholeIds: Ids })),
  decoded: z.array(z.object({ ids: Ids, text: z.string(), following: z.string() })).min(300),
})

const read = (path: string): unknown => JSON.parse(readFileSync(`${FOLDER}/${path}`, 'utf8'))

export const referenceTexts = z.array(z.string()).min(250).parse(read('texts.json'))

/** One small tokenizer of each kind, with the results of Python's package `tokenizers` for it. */
export const referenceTokenizers = ['byte-level-bpe', 'byte-fallback-bpe', 'unigram', 'wordpiece'].map(
  (kind) => ({
    kind,
    folder: `${FOLDER}/${kind}`,
    file: parseTokenizerFile(readFileSync(`${FOLDER}/${kind}/tokenizer.json`, 'utf8')),
    reference: Reference.parse(read(`${kind}/reference.json`)),
  }),
)

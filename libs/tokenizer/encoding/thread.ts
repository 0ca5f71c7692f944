// The thread of the JavaScript encoder: texts in, their ids out.
import { workerData } from 'node:worker_threads'
import { Tokenizer } from '@huggingface/tokenizers'
import { z } from 'zod'
import { serveTasks } from '#libs/threads/serve-tasks.ts'

export type ThreadSettings = { readonly json: string }

export type EncodeTask = { readonly texts: readonly string[]; readonly whole: boolean }

const settings: ThreadSettings = workerData
const Normalizer = z.looseObject({
  type: z.string(),
  handle_chinese_chars: z.boolean().optional(),
  lowercase: z.boolean().nullish(),
})
const file = z
  .looseObject({
    normalizer: Normalizer.extend({ normalizers: z.array(Normalizer).optional() }).nullish(),
  })
  .parse(JSON.parse(settings.json))
const normalizers = [file.normalizer, ...(file.normalizer?.normalizers ?? [])]
// Its second argument is tokenizer_config.json, of which it would follow options that the native library does not have.
const tokenizer = new Tokenizer(file, {})
const setsHanApart = normalizers.some((normalizer) => normalizer?.handle_chinese_chars === true)
const lowers = normalizers.some(
  (normalizer) => normalizer?.lowercase === true || normalizer?.type === 'Lowercase',
)

serveTasks(({ texts, whole }: EncodeTask): Uint32Array[] =>
  texts.map((text) => Uint32Array.from(tokenizer.encode(prepare(text), { add_special_tokens: whole }).ids)),
)

/**
 * BERT's normalizer makes every Chinese character a word; this library forgets those beyond U+FFFF. The native one
 * lowers each character by itself; this one writes the last sigma of a word otherwise.
 */
function prepare(text: string): string {
  const apart = setsHanApart ? text.replaceAll(RARE_HAN, ' $& ') : text
  return lowers ? apart.replaceAll('Σ', 'σ') : apart
}

const RARE_HAN = /[\u{20000}-\u{2A6DF}\u{2A700}-\u{2B81F}\u{2B920}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/gu

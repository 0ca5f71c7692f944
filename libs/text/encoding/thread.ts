// The thread of the JavaScript encoder: texts in, their ids out.
import { workerData } from 'node:worker_threads'
import { Tokenizer } from '@huggingface/tokenizers'
import { z } from 'zod'
import { serveTasks } from '#libs/threads/serve-tasks.ts'

export type ThreadSettings = { readonly json: string }

export type EncodeTask = { readonly texts: readonly string[]; readonly whole: boolean }

const settings: ThreadSettings = workerData
const file = z
  .looseObject({ normalizer: z.looseObject({ handle_chinese_chars: z.boolean().optional() }).nullish() })
  .parse(JSON.parse(settings.json))
// Its second argument is tokenizer_config.json, of which it would follow options that the native library does not have.
const tokenizer = new Tokenizer(file, {})
const prepare = file.normalizer?.handle_chinese_chars === true ? setRareHanApart : (text: string) => text

serveTasks(({ texts, whole }: EncodeTask): Uint32Array[] =>
  texts.map((text) => Uint32Array.from(tokenizer.encode(prepare(text), { add_special_tokens: whole }).ids)),
)

/** BERT's normalizer makes every Chinese character a word; this library forgets those beyond U+FFFF. */
function setRareHanApart(text: string): string {
  return text.replaceAll(RARE_HAN, ' $& ')
}

const RARE_HAN = /[\u{20000}-\u{2A6DF}\u{2A700}-\u{2B81F}\u{2B920}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/gu

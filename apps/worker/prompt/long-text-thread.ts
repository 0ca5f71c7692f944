// The module of the threads that encode long texts: texts in, their ids out.
import { workerData } from 'node:worker_threads'
import { serveTasks } from '#libs/threads/serve-tasks.ts'
import { openNativeEncoder } from '#libs/tokenizer/encoding/native-encoder.ts'
import type { LongTexts } from './long-text-threads.ts'

/** The tokenizer.json, which the sending thread has checked. */
const file: SharedArrayBuffer = workerData
const encoder = await openNativeEncoder({ json: Buffer.from(file).toString(), addedTokens: [] })

serveTasks<LongTexts>(async ({ texts, whole }) => await encoder.encode(texts, { whole }))

import { readFileSync } from 'node:fs'
import { z } from 'zod'

const Case = z.looseObject({ case: z.string() })

const read = new Map<string, ReadonlyMap<string, unknown>>()

/**
 * Returns the recorded calls of a vLLM release. The key of each call is the name of its case. The calls have the order
 * of the release's fixture file, which has one JSON line per call. Each fixture file is read once. Throws if a name
 * occurs twice in it.
 */
export function engineRecordings(release: '0.26.0' | '0.32.0'): ReadonlyMap<string, unknown> {
  const known = read.get(release)
  if (known !== undefined) return known
  const file = new URL(`../fixtures/engine/vllm-${release}.jsonl`, import.meta.url)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const recordings = new Map(lines.map((line) => Case.parse(JSON.parse(line))).map((it) => [it.case, it]))
  if (recordings.size !== lines.length) throw new Error(`${file.pathname} has a case twice`)
  read.set(release, recordings)
  return recordings
}

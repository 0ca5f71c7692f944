import { parseArgs } from 'node:util'

export const HELP = `npm run bench:gpu -- --engine HOST:PORT --http URL [OPTIONS]

Millrace beside vLLM's own HTTP server, on a machine with a GPU: output tokens per second, time to first token, gaps
and processor time per token at several numbers of streams; then a long prompt that comes again, clients that hang up, a
worker that is killed, and twice as many streams as the engine has slots. Prints a table in Markdown.

Two servers of the same model with the same flags run already; both may share the GPU (--gpu-memory-utilization 0.45),
because they are measured in turns:

  SMG_VLLM_SERVICER_KV_EVENTS=0 vllm serve FOLDER --grpc --host 127.0.0.1 --port 50051 FLAGS
  vllm serve FOLDER --host 127.0.0.1 --port 8000 --enable-prompt-tokens-details FLAGS

This starts Redis, PostgreSQL, billing, a gateway and workers of its own, and removes them at its end.

  --engine HOST:PORT   vLLM's gRPC service, for Millrace's workers
  --http URL           vLLM's own HTTP server, such as http://127.0.0.1:8000/v1
  --family NAME        a file of models/families/ (default: hermes)
  --folder FOLDER      the model's small files; needed where the engine was started with a Hugging Face id
  --streams LIST       streams under way at once (default: 1,16,64,256)
  --requests NUMBER    requests for each stream (default: 3; at least 6 in all)
  --words NUMBER       of a prompt, drawn anew for each request (default: 200)
  --tokens NUMBER      the most tokens of an answer (default: 256)
  --rounds NUMBER      each side comes first in every second round (default: 2)
  --threads NUMBER     of the load generator, which is the same for both sides (default: 4)

Tokens are counted by usage. Where a server or the engine runs on another machine its processor time is not known. A
failed stream, an open hold at the end or a contradiction in the books makes the exit code 1.`

export type GpuOptions = {
  readonly engine: string
  readonly http: string
  readonly family: string
  readonly folder: string | undefined
  readonly streams: readonly number[]
  readonly requests: number
  readonly words: number
  readonly tokens: number
  readonly rounds: number
  readonly threads: number
}

/** Returns the options, or `'help'` for `--help`. Throws an Error that names a missing or wrong option. */
export function parseOptions(args: readonly string[]): GpuOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      engine: { type: 'string' },
      http: { type: 'string' },
      family: { type: 'string', default: 'hermes' },
      folder: { type: 'string' },
      streams: { type: 'string', default: '1,16,64,256' },
      requests: { type: 'string', default: '3' },
      words: { type: 'string', default: '200' },
      tokens: { type: 'string', default: '256' },
      rounds: { type: 'string', default: '2' },
      threads: { type: 'string', default: '4' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) return 'help'
  const { engine, http, family, folder } = values
  if (engine === undefined || !/^[^\s:]+:\d{1,5}$/u.test(engine))
    throw new Error('--engine HOST:PORT is missing')
  if (http === undefined || !URL.canParse(http)) throw new Error('--http URL is missing')
  return {
    engine,
    http: http.replace(/\/$/u, ''),
    family,
    folder,
    streams: values.streams.split(',').map((text) => toCount('streams', text)),
    requests: toCount('requests', values.requests),
    words: toCount('words', values.words),
    tokens: toCount('tokens', values.tokens),
    rounds: toCount('rounds', values.rounds),
    threads: toCount('threads', values.threads),
  }
}

function toCount(name: string, text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new Error(`--${name}: expected a whole number above 0, not "${text}"`)
}

import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { REPOSITORY } from './repository.mjs'

/** Thrown for wrong options. The message names the wrong option and the allowed values. */
export class UsageError extends Error {}

export const HELP = `Runs a whole Millrace cluster on this machine: Redis, PostgreSQL, billing, simulated engines with
their workers, and the gateway. Creates an account with 100 credits and a key on the first start.

  npm start                              everything on http://127.0.0.1:8080
  npm start -- --port 9000               on another port
  npm start -- --engine 127.0.0.1:50051  demo-chat on a real vLLM instead of the simulator

Options
  --port NUMBER         port of the gateway (default: PORT, else 8080)
  --engine HOST:PORT    a running "vllm serve --grpc" that serves demo-chat
  --files NAME          the engine's model: a file of models/ without .json (default: demo)
  --help                this text

Environment
  PORT, HOST            where the gateway listens (8080, 127.0.0.1); the rest uses free loopback ports
  MILLRACE_HOME         state and logs (.millrace in the repository); one running cluster each
  LOG_LEVEL             trace, debug, info, warn, error or silent (info)

"demo" names the tiny model in models/tiny, which needs no weights:
  SMG_VLLM_SERVICER_KV_EVENTS=0 vllm serve models/tiny --grpc --host 127.0.0.1 --port 50051 \\
    --load-format dummy --dtype float32 --enforce-eager --max-model-len 2048 --max-num-seqs 8

Ctrl-C stops everything in order; the state stays for the next start.`

/**
 * Reads the settings of the cluster from the command line and the environment. Returns `'help'` if help is asked for.
 * Throws a UsageError for anything unknown or out of range.
 */
export function parseStartOptions(args, environment) {
  const { values } = parse(args)
  if (values.help) return 'help'
  if (values.files !== undefined && values.engine === undefined) {
    throw new UsageError('--files describes the model of --engine, which is missing')
  }
  if (values.engine !== undefined && !/^(?:\[[\da-f:.]+\]|[^\s:]+):\d{1,5}$/i.test(values.engine)) {
    throw new UsageError(`--engine is "${values.engine}": expected HOST:PORT`)
  }
  return {
    host: (environment.HOST || '127.0.0.1').replace(/^\[(.*)\]$/, '$1'),
    port:
      values.port === undefined ? toPort('PORT', environment.PORT || '8080') : toPort('--port', values.port),
    home: resolve(environment.MILLRACE_HOME || join(REPOSITORY, '.millrace')),
    logLevel: toLogLevel(environment.LOG_LEVEL || 'info'),
    ...(values.engine === undefined
      ? {}
      : { engine: { address: values.engine, files: toFiles(values.files ?? 'demo') } }),
  }
}

function parse(args) {
  const text = { type: 'string' }
  try {
    return parseArgs({ args, options: { port: text, engine: text, files: text, help: { type: 'boolean' } } })
  } catch (error) {
    throw new UsageError(`${error.message.split('. ')[0]}. See npm start -- --help`)
  }
}

function toPort(name, value) {
  const port = Number(value)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new UsageError(`${name} is "${value}": expected a port number from 1 to 65535`)
  }
  return port
}

function toLogLevel(value) {
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'silent']
  if (levels.includes(value)) return value
  throw new UsageError(`LOG_LEVEL is "${value}": expected one of ${levels.join(', ')}`)
}

function toFiles(value) {
  const names = readdirSync(join(REPOSITORY, 'models'))
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
  if (names.includes(value)) return value
  throw new UsageError(`--files is "${value}": expected one of ${names.join(', ')}`)
}

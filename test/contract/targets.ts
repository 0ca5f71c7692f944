import { z } from 'zod'
import type { Transport } from '#apps/worker/engine/transport/transport.ts'
import { loadTokenizer } from '#test/support/load-tokenizer.ts'
import { TRANSPORTS, type TransportName } from '#test/support/engine-transports.ts'
import { startEngineUnderTest, type EngineUnderTest } from './engine-under-test.ts'
import { reply, service } from './raw-calls.ts'
import { startRecordedEngine } from './recorded-engine.ts'
import { RECORDED_VERSIONS, type RecordedVersion, type Recording } from './recordings.ts'

/**
 * An engine under test. In `npm test` these are the simulator in each of its versions and the recordings themselves.
 * With `npm run test:engine -- HOST:PORT` it is a running vLLM that serves models/tiny. Each is tested over the
 * worker's own transport and over its reference, grpc-js.
 */
export type Target = {
  readonly kind: 'simulator' | 'recordings' | 'engine'
  readonly name: string
  readonly servicerVersion: RecordedVersion
  readonly transport: TransportName
  /** Whether the engine has vLLM's servicer in Rust, which counts the tokens of a call and not those of a chunk. */
  readonly isRust: boolean
  /** Whether a call may find prefixes of an earlier test in the cache: old servicers cannot flush it. */
  readonly remembers: boolean
}

export type OpenTarget = {
  /** Connects to an engine that was started like the recorded one, or returns the reason why there is none. */
  clientFor(recording: Recording): Promise<Transport | { readonly missing: string }>
  decode(ids: readonly number[]): string
  close(): Promise<void>
}

const ADDRESS = process.env['MILLRACE_ENGINE']
/** The arguments of the engine beyond those with which every recorded engine was started. */
const ARGS = z.array(z.string()).parse(JSON.parse(process.env['MILLRACE_ENGINE_ARGS'] ?? '[]'))

const NAMES = ['http2', 'grpc-js'] as const satisfies TransportName[]

export const TARGETS: readonly Target[] =
  ADDRESS === undefined
    ? (['simulator', 'recordings'] as const).flatMap((kind) =>
        RECORDED_VERSIONS.flatMap((servicerVersion) =>
          NAMES.map((transport) => ({
            kind,
            servicerVersion,
            transport,
            isRust: false,
            remembers: false,
            name: `${kind} ${servicerVersion} over ${transport}`,
          })),
        ),
      )
    : await describeEngine(ADDRESS)

/** The targets that are engines, on which tests can do more than one call. */
export const LIVE_TARGETS = TARGETS.filter(({ kind }) => kind !== 'recordings')

export function engineAddress(): string {
  if (ADDRESS === undefined) throw new Error('MILLRACE_ENGINE is not set')
  return ADDRESS
}

export async function openTarget({ kind, servicerVersion, transport }: Target): Promise<OpenTarget> {
  const { decode } = await loadTokenizer('models/tiny')
  if (kind === 'recordings') {
    const engine = await startRecordedEngine()
    const client = TRANSPORTS[transport]({ address: engine.address })
    return {
      async clientFor(recording) {
        const isWhole = recording.responses.every(({ type }) => type !== 'omitted')
        if (!isWhole) return { missing: 'the middle of the recording is left out' }
        engine.play(recording)
        return client
      },
      decode,
      async close() {
        client.close()
        engine.stop()
      },
    }
  }
  if (kind === 'engine') {
    const client = TRANSPORTS[transport]({ address: engineAddress() })
    return {
      async clientFor({ server_args: args }) {
        if (JSON.stringify(essential(args)) !== JSON.stringify(essential(ARGS))) {
          return { missing: `recorded with ${args.length === 0 ? 'no further arguments' : args.join(' ')}` }
        }
        await reply(client, service.FlushCache, {})
        return client
      },
      decode,
      close: async () => client.close(),
    }
  }
  const engines = new Map<string, Promise<EngineUnderTest>>()
  return {
    async clientFor({ server_args: args }) {
      const key = JSON.stringify(essential(args))
      const started =
        engines.get(key) ?? startEngineUnderTest({ servicerVersion, ...toConfig(args) }, { transport })
      engines.set(key, started)
      return (await started).client
    },
    decode,
    async close() {
      for (const engine of engines.values()) await (await engine).close()
    },
  }
}

function toConfig(args: readonly string[]) {
  return {
    ...(args.includes('--runner') && { kind: 'embedding', dimension: 128 }),
    ...(args.includes('--reasoning-parser') && { files: 'demo-reasoning' }),
    ...(args.includes('--stream-interval') && { streamInterval: 4 }),
  }
}

/** KV events change nothing that is compared. */
function essential(args: readonly string[]): readonly string[] {
  const events = args.indexOf('--kv-events-config')
  return events === -1 ? args : args.filter((_, i) => i !== events && i !== events + 1)
}

async function describeEngine(address: string): Promise<Target[]> {
  const client = TRANSPORTS.http2({ address })
  const loads = await reply(client, service.GetLoads, {})
  const info = await reply(client, service.GetServerInfo, {})
  client.close()
  if (info.response === null) throw new Error(`no engine at ${address}: ${info.ending.details}`)
  const servicerVersion = info.response.maxNumSeqs > 0 ? '0.32.0+0.14.1' : '0.26.0+0.8.0'
  const version = loads.response?.version ?? 'unknown'
  const isRust = info.response.serverType !== ''
  return NAMES.map((transport) => ({
    kind: 'engine' as const,
    servicerVersion,
    transport,
    isRust,
    remembers: servicerVersion === '0.26.0+0.8.0',
    name: `vLLM ${version}${isRust ? ' with the Rust servicer' : ''} at ${address} over ${transport}, compared with ${servicerVersion}`,
  }))
}

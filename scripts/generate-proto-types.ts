// Writes proto/types/ from proto/*.proto. scripts/bootstrap/proto-types.mjs runs it when a source has changed.
import { execFileSync } from 'node:child_process'
import { renameSync, rmSync } from 'node:fs'
import { PROTO_OPTIONS } from '#libs/grpc/load-proto.ts'

// Two scripts may generate at the same time, so each writes to its own folder and then moves it.
const folder = `proto/types-${process.pid}`
const flags = [
  `--longs=${PROTO_OPTIONS.longs.name}`,
  `--enums=${PROTO_OPTIONS.enums.name}`,
  ...(PROTO_OPTIONS.defaults ? ['--defaults'] : []),
  ...(PROTO_OPTIONS.oneofs ? ['--oneofs'] : []),
  '--grpcLib=@grpc/grpc-js',
  '--importFileExtension=.ts',
  '--includeDirs=proto',
  `--outDir=${folder}`,
]
try {
  for (const file of ['billing.proto', 'externalscaler.proto', 'vllm_engine.proto']) {
    execFileSync('node_modules/.bin/proto-loader-gen-types', [...flags, file], { stdio: 'inherit' })
  }
  rmSync('proto/types', { recursive: true, force: true })
  renameSync(folder, 'proto/types')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

// Writes proto/types/ from proto/*.proto. Run it with `npm run proto` after changing a proto. The result is committed,
// so that running and type-checking do not need the generator, which is an alpha version.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { PROTO_OPTIONS } from '#libs/grpc/load-proto.ts'

const flags = [
  `--longs=${PROTO_OPTIONS.longs.name}`,
  `--enums=${PROTO_OPTIONS.enums.name}`,
  ...(PROTO_OPTIONS.defaults ? ['--defaults'] : []),
  ...(PROTO_OPTIONS.oneofs ? ['--oneofs'] : []),
  '--grpcLib=@grpc/grpc-js',
  '--importFileExtension=.ts',
  '--includeDirs=proto',
  '--outDir=proto/types',
]
rmSync('proto/types', { recursive: true, force: true })
for (const file of ['billing.proto', 'externalscaler.proto', 'vllm_engine.proto']) {
  execFileSync('node_modules/.bin/proto-loader-gen-types', [...flags, file], { stdio: 'inherit' })
}

import { fileURLToPath } from 'node:url'
import { loadPackageDefinition } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

/**
 * The representation of messages in TypeScript. The types in `proto/types/` are generated with the same options
 * (`scripts/generate-proto-types.ts` reads this constant), so that types and values agree.
 * 64-bit integers are strings: JavaScript numbers would round nano-credits.
 */
export const PROTO_OPTIONS = {
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
} as const

const PROTO_FOLDER = fileURLToPath(new URL('../../proto/', import.meta.url))

type ProtoFile = 'billing.proto' | 'externalscaler.proto' | 'vllm_engine.proto'

/**
 * The loaded files. They are cached because a worker and a simulator need a file once for each engine, and loading
 * takes tens of milliseconds.
 */
const trees = new Map<ProtoFile, unknown>()

/**
 * Loads one file of `proto/`, once in a process, and returns its package tree. The caller gives the generated
 * `ProtoGrpcType` of that file. The package tree is read at run time and cast to the generated type; no other place has
 * such a cast. The cast is correct because the tree and the type are made from the same file with the same options.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function loadProto<ProtoGrpcType>(file: ProtoFile): ProtoGrpcType {
  const tree = trees.get(file) ?? load(file)
  trees.set(file, tree)
  // oxlint-disable-next-line typescript/consistent-type-assertions, typescript/no-unsafe-type-assertion
  return tree as ProtoGrpcType
}

function load(file: ProtoFile): unknown {
  return loadPackageDefinition(loadSync(file, { ...PROTO_OPTIONS, includeDirs: [PROTO_FOLDER] }))
}

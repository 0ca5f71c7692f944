import { expect, test } from 'vitest'
import { loadProto } from '#libs/grpc/load-proto.ts'

test('a file is read once: a worker with many engines has one package tree', () => {
  const tree = loadProto<object>('vllm_engine.proto')
  expect(tree).toHaveProperty('vllm.grpc.engine.VllmEngine.service')
  expect(loadProto<object>('vllm_engine.proto')).toBe(tree)
  expect(loadProto<object>('billing.proto')).not.toBe(tree)
})

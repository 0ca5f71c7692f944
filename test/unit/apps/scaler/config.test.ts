import { expect, test } from 'vitest'
import { ScalerConfig, toClusterAccess } from '#apps/scaler/config.ts'
import { loadConfig } from '#libs/config/load-config.ts'

const REQUIRED = {
  QUEUE_REDIS_URL: 'redis://localhost:6379',
  BUS_REDIS_URL: 'redis://localhost:6379',
  SCALER_MODELS_FILE: '/etc/models.json',
}
const accessOf = (environment: Record<string, string>) =>
  toClusterAccess(loadConfig(ScalerConfig, { ...REQUIRED, ...environment }))

test('in a pod the access is that of its service account', () => {
  const place = '/var/run/secrets/kubernetes.io/serviceaccount'
  const access = {
    caFile: `${place}/ca.crt`,
    tokenFile: `${place}/token`,
    namespace: { file: `${place}/namespace` },
  }
  expect(accessOf({ KUBERNETES_SERVICE_HOST: '10.0.0.1' })).toEqual({
    url: 'https://10.0.0.1:443',
    ...access,
  })
  expect(accessOf({ KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' }).url).toBe(
    'https://[fd00::1]:6443',
  )
})

test('with a URL nothing of a pod is assumed', () => {
  expect(accessOf({ KUBERNETES_URL: 'http://127.0.0.1:8001', KUBERNETES_NAMESPACE: 'lab' })).toEqual({
    url: 'http://127.0.0.1:8001',
    caFile: undefined,
    tokenFile: undefined,
    namespace: { name: 'lab' },
  })
})

test('outside a pod the URL is needed, and a certificate needs its key', () => {
  expect(() => accessOf({})).toThrow('KUBERNETES_URL')
  expect(() => accessOf({ KUBERNETES_URL: 'http://a', KEDA_TLS_CERT_FILE: '/a' })).toThrow(
    'KEDA_TLS_KEY_FILE',
  )
  expect(() => accessOf({ KUBERNETES_URL: 'http://a', SCALER_NAME: 'a{b}' })).toThrow('SCALER_NAME')
})

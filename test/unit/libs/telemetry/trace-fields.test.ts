import { expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigError, loadConfig } from '#libs/config/load-config.ts'
import { TraceFields } from '#libs/telemetry/trace-fields.ts'

const Schema = z.object(TraceFields)

test('tracing is off unless an endpoint is set, and then a twentieth is traced', () => {
  expect(loadConfig(Schema, {})).toEqual({ TRACE_RATIO: 0.05 })
  expect(loadConfig(Schema, { OTLP_ENDPOINT: 'http://otel:4318/' })).toEqual({
    OTLP_ENDPOINT: 'http://otel:4318',
    TRACE_RATIO: 0.05,
  })
})

test('an endpoint that is no URL and a ratio above 1 are refused', () => {
  expect(() => loadConfig(Schema, { OTLP_ENDPOINT: 'otel:4318', TRACE_RATIO: '2' })).toThrow(ConfigError)
})

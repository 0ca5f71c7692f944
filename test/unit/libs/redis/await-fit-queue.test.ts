import { expect, test } from 'vitest'
import { findProblem } from '#libs/redis/await-fit-queue.ts'

const RUN = 'run_id:0a1b2c3d4e5f60718293a4b5c6d7e8f901234567'

test.each([
  ['Redis', ['redis_version:7.0.15', RUN]],
  ['Redis 8', ['redis_version:8.2.1', RUN]],
  ['Valkey', ['redis_version:7.2.4', 'server_name:valkey', 'valkey_version:8.1.0', RUN]],
  ['a server that hides its version', [RUN]],
])('%s is accepted', (_, lines) => {
  expect(findProblem(['# Server', ...lines, ''].join('\r\n'))).toBeNull()
})

test.each([
  ['Redis 6', ['redis_version:6.2.14', RUN], 'it is Redis 6.2.14; expected Redis 7 or later, or Valkey'],
  [
    'a server without a run id',
    ['redis_version:7.4.0', 'dragonfly_version:df-v1.30.0'],
    'does not report a run_id',
  ],
  ['a run id that is empty', ['redis_version:7.4.0', 'run_id:'], 'does not report a run_id'],
])('%s is refused', (_, lines, problem) => {
  expect(findProblem(['# Server', ...lines, ''].join('\r\n'))).toContain(problem)
})

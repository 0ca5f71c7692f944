import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findBus } from '#apps/ctl/find-bus.ts'

let home = ''

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'millrace-ctl-'))
})
afterEach(() => rmSync(home, { recursive: true }))

function runsLocally() {
  const processes = [{ name: 'redis', addresses: { redis: '127.0.0.1:1' } }]
  writeFileSync(join(home, 'cluster.json'), JSON.stringify({ address: 'http://127.0.0.1:4', processes }))
  writeFileSync(join(home, 'secrets.json'), JSON.stringify({ adminToken: 'x', redisPassword: 'secret' }))
}

test('the bus of a running npm start is the default', () => {
  runsLocally()
  expect(findBus({ MILLRACE_HOME: home })).toEqual({
    cell: undefined,
    servers: [{ mode: 'single', url: 'redis://:secret@127.0.0.1:1' }],
  })
})

test('the environment comes first, with the variables of the workers', () => {
  runsLocally()
  const url = 'rediss://bus.example:6380'
  expect(findBus({ MILLRACE_HOME: home, BUS_REDIS_URL: url, CELL: 'north' })).toEqual({
    cell: 'north',
    servers: [{ mode: 'single', url }],
  })
  const sentinel = {
    BUS_REDIS_MODE: 'sentinel',
    BUS_REDIS_URL: 'redis://bus',
    BUS_REDIS_SENTINELS: 'a:1,b:2',
  }
  expect(findBus(sentinel).servers).toMatchObject([
    { mode: 'sentinel', url: 'redis://bus', sentinels: ['a:1', 'b:2'] },
  ])
})

test('a missing bus and a wrong variable are reported, without a password', () => {
  expect(() => findBus({ MILLRACE_HOME: home })).toThrow(`No npm start runs in ${home}`)
  expect(() => findBus({ BUS_REDIS_URL: 'http://:secret@x' })).toThrow(
    /^BUS_REDIS_URL is wrong: expected a redis/,
  )
})

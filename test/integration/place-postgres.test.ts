import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { placePostgres } from '#scripts/cluster/place-postgres.ts'
import type { PostgresBinaries } from '#scripts/servers/find-postgres.ts'
import { postgresUser } from '#scripts/servers/postgres-user.ts'
import { scratchFolder } from '../support/run-folder.ts'

// Tests the choice of PostgreSQL's data folder: a start that looked in another folder would begin without credits.

const isRoot = process.getuid?.() === 0
/** A user id that no user of this machine has. */
const STRANGER = 54_321
/** The paths can be any programs that every user may run, because these tests start nothing. */
const INSTALLATIONS: PostgresBinaries[] = [18, 16].map((major) => ({
  initdb: '/bin/true',
  postgres: '/bin/true',
  major,
}))

let home: string
let elsewhere: string
let said: string[]

beforeEach(() => {
  home = scratchFolder('home')
  elsewhere = join(scratchFolder('elsewhere'), 'millrace')
  said = []
})

test('data begin in the state folder', () => {
  expect(place()).toMatchObject({ directory: join(home, 'postgres/data'), user: postgresUser() })
  expect(said).toEqual([])
})

test('data that an earlier start put elsewhere stay there, also when the state folder could have them now', () => {
  const directory = makeData(elsewhere)
  expect(place().directory).toBe(directory)
  expect(said).toEqual([`PostgreSQL's data are in ${elsewhere}: an earlier start put them there`])
})

test('of data in both places those of the state folder count', () => {
  makeData(elsewhere)
  const directory = makeData(home)
  expect(place().directory).toBe(directory)
})

test('data are opened by the version that made them', () => {
  expect(place().binaries.major).toBe(18)
  makeData(home, undefined, 16)
  expect(place().binaries.major).toBe(16)
})

test('data of a version that is not installed are refused', () => {
  makeData(home, undefined, 17)
  expect(place).toThrow('are of PostgreSQL 17, but this machine has 18 and 16: install PostgreSQL 17')
})

test('files that are no database are not written over', () => {
  mkdirSync(join(home, 'postgres/data'), { recursive: true })
  giveAway(join(home, 'postgres/data'))
  expect(place).toThrow('contains files that are not a PostgreSQL database')
})

test.runIf(isRoot)('data go elsewhere when their user cannot reach the state folder', () => {
  chmodSync(home, 0o700)
  expect(place().directory).toBe(join(elsewhere, 'postgres/data'))
  expect(said).toEqual([`PostgreSQL's data are in ${elsewhere}: it cannot run as root nor reach ${home}`])
})

test.runIf(isRoot)('data in a state folder that their user cannot reach any more are not passed over', () => {
  makeData(home)
  chmodSync(home, 0o700)
  expect(place).toThrow(/who cannot reach them: .*chmod o\+x/)
})

test.runIf(isRoot)('root runs it as the owner of the data, who may have started it before', () => {
  const directory = makeData(home, STRANGER)
  chownSync(home, STRANGER, STRANGER)
  chmodSync(home, 0o700)
  expect(place()).toMatchObject({ directory, user: { uid: STRANGER, gid: STRANGER } })
})

test.runIf(isRoot)('data of root are refused, whom PostgreSQL refuses', () => {
  expect(makeData(home, 0)).toContain(home)
  expect(place).toThrow('belong to user 0, but PostgreSQL would run as')
})

test.runIf(!isRoot)('data of another user are refused', () => {
  mkdirSync(join(elsewhere, 'postgres'), { recursive: true })
  // Any folder that is not ours will do.
  symlinkSync('/', join(elsewhere, 'postgres/data'))
  expect(place).toThrow('belong to user 0, but PostgreSQL would run as')
})

const place = () =>
  placePostgres({ home, installations: INSTALLATIONS, say: (text) => said.push(text), elsewhere })

/** Makes a data folder as initdb leaves it, and returns its path. */
function makeData(folder: string, uid?: number, major = INSTALLATIONS[0]?.major): string {
  const directory = join(folder, 'postgres/data')
  mkdirSync(directory, { recursive: true, mode: 0o711 })
  writeFileSync(join(directory, 'PG_VERSION'), `${major}\n`)
  giveAway(directory, uid)
  return directory
}

function giveAway(directory: string, uid = postgresUser()?.uid): void {
  chmodSync(directory, 0o700)
  if (isRoot && uid !== undefined) chownSync(directory, uid, uid)
}

import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { placePostgres } from '#scripts/cluster/place-postgres.ts'
import { findPostgres } from '#scripts/servers/find-postgres.ts'
import { postgresUser } from '#scripts/servers/postgres-user.ts'
import { scratchFolder } from '../support/run-folder.ts'

// Where `npm start` keeps its credits: a start that looked elsewhere would begin with none.

const isRoot = process.getuid?.() === 0
/** Of nobody on this machine. */
const STRANGER = 54_321

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

test('files that are no database are not written over', () => {
  mkdirSync(join(home, 'postgres/data'), { recursive: true })
  giveAway(join(home, 'postgres/data'))
  expect(place).toThrow('holds files that are not a PostgreSQL database')
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

const place = () => placePostgres(home, (text) => said.push(text), elsewhere)

/** As initdb leaves them; returns their folder. */
function makeData(folder: string, uid?: number): string {
  const directory = join(folder, 'postgres/data')
  mkdirSync(directory, { recursive: true, mode: 0o711 })
  writeFileSync(join(directory, 'PG_VERSION'), `${findPostgres()[0]?.major}\n`)
  giveAway(directory, uid)
  return directory
}

function giveAway(directory: string, uid = postgresUser()?.uid): void {
  chmodSync(directory, 0o700)
  if (isRoot && uid !== undefined) chownSync(directory, uid, uid)
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadConfig } from '#libs/config/load-config.ts'

const Config = z.object({
  ADMIN_TOKEN: z.string().min(16, 'expected at least 16 characters'),
  DATABASE_URL: z.url().optional(),
  REDIS_PASSWORD: z.string().optional(),
  SERVICE_TOKEN_FILE: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
})

const TOKEN = 'a-token-of-the-tests'

describe('a secret in a file', () => {
  let folder = ''

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-config-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  function file(content: string): string {
    const path = join(folder, 'secret')
    writeFileSync(path, content)
    return path
  }

  test.each([
    ['as it is', TOKEN],
    ['with a newline at the end, which is not a part of it', `${TOKEN}\n`],
    ["with Windows' line end", `${TOKEN}\r\n`],
  ])('is read %s', (_, content) => {
    expect(loadConfig(Config, { ADMIN_TOKEN_FILE: file(content) })).toEqual({
      ADMIN_TOKEN: TOKEN,
      HOST: '127.0.0.1',
    })
  })

  test('keeps all of its content but one newline', () => {
    expect(loadConfig(Config, { ADMIN_TOKEN: TOKEN, REDIS_PASSWORD_FILE: file(' a\nb \n\n') })).toMatchObject(
      { REDIS_PASSWORD: ' a\nb \n' },
    )
  })

  test('is validated like any other value, and not shown', () => {
    const wrong = () => loadConfig(Config, { ADMIN_TOKEN: TOKEN, DATABASE_URL_FILE: file('hunter2') })
    expect(wrong).toThrow('DATABASE_URL is set: ')
    expect(wrong).not.toThrow('hunter2')
  })

  test('is refused beside the variable itself', () => {
    expect(() => loadConfig(Config, { ADMIN_TOKEN: TOKEN, ADMIN_TOKEN_FILE: file(TOKEN) })).toThrow(
      'ADMIN_TOKEN is set, and ADMIN_TOKEN_FILE too: expected only one of them',
    )
    expect(loadConfig(Config, { ADMIN_TOKEN: '', ADMIN_TOKEN_FILE: file(TOKEN) })).toMatchObject({
      ADMIN_TOKEN: TOKEN,
    })
  })

  test.each([
    ['that is missing', () => join(folder, 'nowhere'), 'the file cannot be read (ENOENT)'],
    ['that is a folder', () => folder, 'the file cannot be read (EISDIR)'],
    ['that is empty', () => file('\n'), 'the file is empty'],
    ['that is too long', () => file('x'.repeat(65_537)), 'the file has 65537 bytes, more than 65536'],
  ])('is refused in a file %s', (_, path, problem) => {
    expect(() => loadConfig(Config, { ADMIN_TOKEN_FILE: path() })).toThrow(
      `wrong configuration: ADMIN_TOKEN_FILE is ${JSON.stringify(path())}: ${problem}`,
    )
  })

  test('is read for no other variable, and not where the path is what the app wants', () => {
    const path = file(TOKEN)
    expect(
      loadConfig(Config, { ADMIN_TOKEN: TOKEN, HOST_FILE: path, OTHER_TOKEN_FILE: '/nowhere' }),
    ).toMatchObject({ HOST: '127.0.0.1' })
    expect(loadConfig(Config, { ADMIN_TOKEN: TOKEN, SERVICE_TOKEN_FILE: '/nowhere' })).toMatchObject({
      SERVICE_TOKEN_FILE: '/nowhere',
    })
  })
})

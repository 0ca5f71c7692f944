import { readFileSync, statSync } from 'node:fs'

/** The largest file that is read. Every token, key and list of URLs is shorter. */
const MAX_BYTES = 64 * 1024

/**
 * `environment` includes the values that were read from files. Each problem is a sentence that begins with a variable's
 * name.
 */
export type ReadSecrets = {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly problems: readonly string[]
}

/**
 * Reads secrets from files: for each of `names`, `NAME_FILE` may have the path of a file with the value of `NAME`. A
 * mounted file is safer than a variable, because other processes can read the environment of a process. One newline at
 * the end is not part of the value. A problem is returned if both `NAME` and `NAME_FILE` are set, or if a file cannot
 * be read, is empty or is longer than 64 KiB.
 */
export function readSecretFiles(
  names: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ReadSecrets {
  const values: Record<string, string | undefined> = { ...environment }
  const problems: string[] = []
  for (const name of names) {
    const path = environment[`${name}_FILE`]
    if (path === undefined) continue
    if (environment[name] !== undefined) {
      problems.push(`${name} is set, and ${name}_FILE too: expected only one of them`)
      continue
    }
    const read = readSecret(path)
    if ('problem' in read) problems.push(`${name}_FILE is ${JSON.stringify(path)}: ${read.problem}`)
    else values[name] = read.value
  }
  return { environment: values, problems }
}

function readSecret(path: string): { readonly value: string } | { readonly problem: string } {
  try {
    const { size } = statSync(path)
    if (size > MAX_BYTES) return { problem: `the file has ${size} bytes, more than ${MAX_BYTES}` }
    const value = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    return value === '' ? { problem: 'the file is empty' } : { value }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return { problem: `the file cannot be read (${code})` }
  }
}

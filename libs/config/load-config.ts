import assert from 'node:assert'
import { z } from 'zod'
import { readSecretFiles } from './secret-files.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Thrown if the environment is wrong. The message names every wrong variable and the expected value. */
export class ConfigError extends Error {
  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(`wrong configuration: ${problems.join('; ')}`, options)
    this.name = 'ConfigError'
  }
}

/**
 * Reads an app's configuration from the environment. `schema` is the app's one schema, an object. Empty variables count
 * as absent, because shells and compose files cannot unset a variable. The value of a variable that may contain a
 * secret can also be in a file whose path is in `NAME_FILE`: see `readSecretFiles`.
 *
 * Throws a ConfigError that names each wrong variable and shows its value, unless it may contain a secret.
 */
export function loadConfig<Schema extends z.ZodType>(
  schema: Schema,
  environment: Environment,
): Readonly<z.infer<Schema>> {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const { environment: present, problems } = readSecretFiles(listSecrets(schema), given)
  if (problems.length > 0) throw new ConfigError(problems)
  const result = schema.safeParse(present)
  if (!result.success) {
    throw new ConfigError(
      result.error.issues.map((issue) => {
        const name = issue.path.map(String).join('.')
        return `${name} ${describe(name, present[String(issue.path[0])])}: ${issue.message}`
      }),
    )
  }
  return Object.freeze(result.data)
}

/** URLs may contain passwords. */
const SECRET = /TOKEN|SECRET|PASSWORD|URL/

/**
 * Returns the variables whose values may be in files. Only names of the schema count, because the environment also has
 * variables of other programs. A schema variable called `NAME_FILE` is a variable of its own, not the file of `NAME`.
 */
function listSecrets(schema: z.ZodType): string[] {
  assert(schema instanceof z.ZodObject, 'a configuration has named variables')
  const names = Object.keys(schema.shape)
  return names.filter((name) => SECRET.test(name) && !names.includes(`${name}_FILE`))
}

function describe(name: string, value: string | undefined): string {
  if (value === undefined) return 'is not set'
  return SECRET.test(name) ? 'is set' : `is ${JSON.stringify(value.slice(0, 200))}`
}

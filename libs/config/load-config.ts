import { z } from 'zod'

export type Environment = Readonly<Record<string, string | undefined>>

/** The environment is wrong. The message names every wrong variable and the expected value. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`wrong configuration: ${problems.join('; ')}`)
    this.name = 'ConfigError'
  }
}

/**
 * Reads an app's configuration from the environment through its one schema. Empty variables count as absent,
 * because shells and compose files cannot unset them. Throws a ConfigError that names each wrong variable and shows its
 * value, unless it may contain a secret.
 */
export function loadConfig<Schema extends z.ZodType>(
  schema: Schema,
  environment: Environment,
): Readonly<z.infer<Schema>> {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
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

function describe(name: string, value: string | undefined): string {
  if (value === undefined) return 'is not set'
  return SECRET.test(name) ? 'is set' : `is ${JSON.stringify(value.slice(0, 200))}`
}

import { z } from 'zod'

/** One operation of a description: its place, and the OpenAPI operation object. */
export type DescribedOperation = {
  readonly path: string
  readonly method: string
  readonly described: { readonly operationId: string } & object
}

/**
 * Returns an OpenAPI 3.1 document. Every schema of `registry` is a component; a schema that contains another one refers
 * to it.
 */
export function describeDocument({
  title,
  about,
  root,
  scheme,
  operations,
  registry,
  components = {},
}: {
  title: string
  about: string
  /** The path below which all paths of the operations are. */
  root: string
  /** The bearer authentication of every request. */
  scheme: { readonly name: string; readonly description: string }
  operations: readonly DescribedOperation[]
  registry: z.core.$ZodRegistry<{ id?: string | undefined }>
  /** Components other than the schemas. */
  components?: object
}) {
  const paths: Record<string, Record<string, object>> = {}
  for (const { path, method, described } of operations) {
    const methods = (paths[path] ??= {})
    methods[method.toLowerCase()] = described
  }
  const { name, description } = scheme
  return {
    openapi: '3.1.0',
    info: {
      title,
      version: '1.0.0',
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: root }],
    security: [{ [name]: [] }],
    paths,
    components: {
      securitySchemes: { [name]: { type: 'http', scheme: 'bearer', description } },
      schemas: describeSchemas(registry),
      ...components,
    },
  }
}

/**
 * With `io: 'input'`, the schemas of requests describe a request before zod transforms it. The schemas of answers have
 * no transforms; `io: 'input'` only makes them allow additional properties.
 */
function describeSchemas(registry: z.core.$ZodRegistry<{ id?: string | undefined }>) {
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: toReference })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _uri, ...schema }]) => [name, schema]),
  )
}

export function toReference(name: string): string {
  return `#/components/schemas/${name}`
}

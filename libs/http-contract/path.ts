const PARAMETER = /\{(\w+)\}/g

/**
 * Returns the path of an operation with the values of its parameters. The values are encoded, so none can lead to
 * another path.
 */
export function fillPath(path: string, valueOf: (name: string) => string): string {
  return path.replaceAll(PARAMETER, (_, name: string) => encodeURIComponent(valueOf(name)))
}

/** Returns the path of an operation in the syntax of a router. */
export function toRoute(path: string): string {
  return path.replaceAll(PARAMETER, ':$1')
}

const PARAMETER = /\{(\w+)\}/g

/** The path of an operation with the values of its parameters, none of which can name another path. */
export function fillPath(path: string, valueOf: (name: string) => string): string {
  return path.replaceAll(PARAMETER, (_, name: string) => encodeURIComponent(valueOf(name)))
}

/** The path of an operation as a router reads it. */
export function toRoute(path: string): string {
  return path.replaceAll(PARAMETER, ':$1')
}

import { toPythonSource, toPythonText, type RuntimeValue } from './runtime-value.ts'

/**
 * Returns Python's `template % values`, for templates with the fields `%s`, `%r`, `%d` (of integers) and `%%` alone.
 * Throws for any other field, and where Python throws.
 */
export function formatPercent(template: string, values: readonly RuntimeValue[]): string {
  const rest = [...values]
  const text = template.replaceAll(/%(.?)/gsu, (field, kind: string) => {
    if (kind === '%') return '%'
    const value = rest.shift()
    if (value === undefined) throw new Error(`there is no value for ${field}`)
    if (kind === 's') return toPythonText(value)
    if (kind === 'r') return toPythonSource(value)
    if (kind === 'd' && value.type === 'IntegerValue') return String(value.value)
    throw new Error(`${field} of a ${value.type} is not supported`)
  })
  if (rest.length > 0) throw new Error('there are more values than fields')
  return text
}

/**
 * Returns Python's `template.format(*values)`, for templates with fields such as `{}` and `{0}` alone. Throws for any
 * other field, and where Python throws.
 */
export function formatBraces(template: string, values: readonly RuntimeValue[]): string {
  let next = 0
  return template.replaceAll(/\{\{|\}\}|\{(\d*)\}|[{}]/gu, (field, place: string | undefined) => {
    if (field === '{{' || field === '}}') return field.charAt(0)
    const value = place === undefined ? undefined : values[place === '' ? next++ : Number(place)]
    if (value === undefined) throw new Error(`the field ${field} is not supported, or has no value`)
    return toPythonText(value)
  })
}

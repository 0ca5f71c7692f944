const STRING = /"(?:[^"\\]|\\.)*"/g
const MATCHERS = /\{[^{}]*\}/g
const LABEL_LIST = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)/g
const RANGE = /\[[^[\]]*\]/g
const NAME = /[a-zA-Z_:][\w:]*/g
/** Words of PromQL that are no metrics. Not listed: functions, which stand before a parenthesis, and units of time. */
const WORDS = new Set(['and', 'or', 'unless', 'offset', 'bool', 'inf', 'nan'])
const DURATION = /\b\d+(?:ms|[smhdwy])\b/g
const NUMBER = /\b\d+(?:\.\d+)?(?:e\d+)?\b/gi

/** Returns the names of metrics and recorded series in a PromQL expression. */
export function metricNames(expression: string): string[] {
  const bare = [STRING, MATCHERS, LABEL_LIST, RANGE, DURATION, NUMBER].reduce(
    (text, pattern) => text.replaceAll(pattern, ' '),
    expression,
  )
  const names = Array.from(bare.matchAll(NAME), ({ 0: name, index }) => ({
    name,
    isFunction: /^\s*\(/.test(bare.slice(index + name.length)),
  }))
  return names.filter(({ name, isFunction }) => !isFunction && !WORDS.has(name)).map(({ name }) => name)
}

/** Returns the metric of a histogram's series. Other names are returned unchanged. */
export function toMetric(series: string): string {
  return series.replace(/_(?:bucket|sum|count)$/, '')
}

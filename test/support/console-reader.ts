/**
 * Returns the `ACL SETUSER` rules of the Redis user that docs/operators.md gives to the console: it reads, and
 * publishes requests to report.
 */
export const consoleReader = (password: string): readonly string[] => [
  'console',
  'on',
  `>${password}`,
  ...'resetkeys resetchannels %R~mr2:*'.split(' '),
  ...'&mr2:observe &mr2:reports &mr2:capacity &mr2:demand &mr2:model-states'.split(' '),
  ...'-@all +hello +ping +info +select +client|setname +cluster|slots +cluster|info'.split(' '),
  ...'+zcard +xinfo|stream +subscribe +unsubscribe +publish'.split(' '),
]

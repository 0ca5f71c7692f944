/**
 * Returns the `ACL SETUSER` rules of the Redis user that docs/operators.md gives to the console. This user may read,
 * and may publish the console's requests for reports.
 */
export const consoleReader = (password: string): readonly string[] => [
  'console',
  'on',
  `>${password}`,
  ...'resetkeys resetchannels %R~mr2:main:{*}:waiting-expiry %R~mr2:main:{*}:settlements'.split(' '),
  ...'&mr2:main:reports &mr2:main:heartbeats:workers &mr2:main:demand &mr2:main:model-states'.split(' '),
  '(&mr2:main:observe +publish)',
  ...'-@all +hello +ping +info +select +client|setname +cluster|slots +cluster|info'.split(' '),
  ...'+multi +discard +zcard +xinfo|stream +subscribe +unsubscribe'.split(' '),
]

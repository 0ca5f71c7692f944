import type { Command } from './command.ts'
import { ACCOUNT_COMMANDS } from './resources/accounts.ts'
import { ALARM_COMMANDS } from './resources/alarms.ts'
import { AUDIT_COMMANDS } from './resources/audit.ts'
import { CHAT_COMMANDS } from './resources/chat.ts'
import { CONSOLE_COMMANDS } from './resources/console.ts'
import { CREDENTIAL_COMMANDS } from './resources/credentials.ts'
import { CREDIT_COMMANDS } from './resources/credits.ts'
import { HOLD_COMMANDS } from './resources/holds.ts'
import { KEY_COMMANDS } from './resources/keys.ts'
import { LEDGER_COMMANDS } from './resources/ledger.ts'
import { MANAGEMENT_KEY_COMMANDS } from './resources/management-keys.ts'
import { MODEL_FILE_COMMANDS } from './resources/model-files.ts'
import { MODEL_COMMANDS } from './resources/models.ts'
import { RECONCILIATION_COMMANDS } from './resources/reconciliation.ts'
import { REQUEST_COMMANDS } from './resources/requests.ts'
import { SESSION_COMMANDS } from './resources/sessions.ts'
import { STATE_COMMANDS } from './resources/state.ts'
import { TOP_COMMANDS } from './resources/top.ts'
import { USAGE_COMMANDS } from './resources/usage.ts'
import { WHOAMI_COMMANDS } from './resources/whoami.ts'
import { WORKER_COMMANDS } from './resources/workers.ts'

/** All commands, in the order in which a help text lists them. */
export const COMMANDS: readonly Command[] = [
  ...ACCOUNT_COMMANDS,
  ...KEY_COMMANDS,
  ...MANAGEMENT_KEY_COMMANDS,
  ...CREDIT_COMMANDS,
  ...MODEL_COMMANDS,
  ...MODEL_FILE_COMMANDS,
  ...WORKER_COMMANDS,
  ...REQUEST_COMMANDS,
  ...USAGE_COMMANDS,
  ...HOLD_COMMANDS,
  ...LEDGER_COMMANDS,
  ...ALARM_COMMANDS,
  ...STATE_COMMANDS,
  ...RECONCILIATION_COMMANDS,
  ...AUDIT_COMMANDS,
  ...CREDENTIAL_COMMANDS,
  ...SESSION_COMMANDS,
  ...WHOAMI_COMMANDS,
  ...CONSOLE_COMMANDS,
  ...TOP_COMMANDS,
  ...CHAT_COMMANDS,
]

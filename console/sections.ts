import { calls } from './calls/routes.ts'
import { channels } from './channels/routes.ts'
import { contacts } from './contacts/routes.ts'
import { developers } from './developers/routes.ts'
import { inbox } from './inbox/routes.ts'
import { logs } from './logs/routes.ts'
import { money } from './money/routes.ts'
import { numbers } from './numbers/routes.ts'
import { people } from './people/routes.ts'
import { settings } from './settings/routes.ts'
import type { Section } from './shell/section.ts'
import { start } from './start/routes.ts'
import { you } from './you/routes.ts'

/** Every section, in the order of the navigation. A new one needs a line here. */
export const sections: readonly Section[] = [
  start,
  inbox,
  calls,
  contacts,
  numbers,
  channels,
  logs,
  money,
  developers,
  people,
  settings,
  you,
]

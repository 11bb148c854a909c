import { channels } from './channels/routes.ts'
import { developers } from './developers/routes.ts'
import { people } from './people/routes.ts'
import { settings } from './settings/routes.ts'
import type { Section } from './shell/section.ts'
import { you } from './you/routes.ts'

/** Every section, in the order of the navigation. A new one needs a line here. */
export const sections: readonly Section[] = [developers, channels, people, settings, you]

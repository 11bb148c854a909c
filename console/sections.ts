import { developers } from './developers/routes.ts'
import { logs } from './logs/routes.ts'
import { money } from './money/routes.ts'
import type { Section } from './shell/section.ts'
import { you } from './you/routes.ts'

/** Every section, in the order of the navigation. A new one needs a line here. */
export const sections: readonly Section[] = [developers, logs, money, you]

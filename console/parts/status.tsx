import type { ComponentChildren } from 'preact'
import type { IconName } from '../icons/names.ts'
import { words } from '../words/en/parts.ts'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

export type Tone = 'good' | 'notice' | 'bad' | 'info' | 'neutral'

export const toneIcons: Readonly<Record<Tone, IconName>> = {
  good: 'circle-check',
  notice: 'triangle-alert',
  bad: 'circle-x',
  info: 'info',
  neutral: 'circle',
}

/** A state: the icon and the word have the meaning, the colour helps. */
export const Status = ({ tone, icon, children }: { tone: Tone; icon?: IconName; children: ComponentChildren }) => (
  <span class={`badge tone-${tone}`}>
    <Icon name={icon ?? toneIcons[tone]} />
    <span>{children}</span>
  </span>
)

/** A count or a short word. */
export const Badge = ({ tone, children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={classes('badge', 'tabular', tone && `tone-${tone}`)}>
    <span>{children}</span>
  </span>
)

/** A number from 1 to 6 that is the same for a name every time. */
const hueOf = (name: string): number => ([...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 6) + 1

/** A word that people chose. The colour follows from the name unless `hue` (1 to 6) is set. */
export const Tag = ({ name, hue, onRemove }: { name: string; hue?: number; onRemove?: () => void }) => (
  <span class={`badge tag hue-${hue ?? hueOf(name)}`}>
    <span dir="auto">{name}</span>
    {onRemove && (
      <button type="button" class="tag-remove" onClick={onRemove}>
        <Icon name="x" label={`${words.file.remove} ${name}`} />
      </button>
    )}
  </span>
)

import type { ComponentChildren } from 'preact'
import { words } from '../words/en/parts.ts'
import { Icon } from './icon.tsx'
import { type Tone, toneIcons } from './status.tsx'

export type BannerProps = {
  readonly tone: Tone
  readonly title?: string
  readonly children?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly onDismiss?: () => void
  /** Read aloud when it appears. Leave out when it is there from the start. */
  readonly live?: boolean
}

/** A message that stays: what is wrong, and the way out. */
export const Banner = ({ tone, title, children, actions, onDismiss, live }: BannerProps) => (
  <div class={`banner tone-${tone}`} role={live ? (tone === 'bad' ? 'alert' : 'status') : undefined}>
    <Icon name={toneIcons[tone]} />
    <div class="banner-text">
      {title && <strong>{title}</strong>}
      {children && <div>{children}</div>}
    </div>
    {actions && <div class="banner-actions">{actions}</div>}
    {onDismiss && (
      <button type="button" class="copy-button" onClick={onDismiss}>
        <Icon name="x" label={words.dismiss} />
      </button>
    )}
  </div>
)

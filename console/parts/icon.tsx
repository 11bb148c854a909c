import type { IconName } from '../icons/names.ts'
import sprite from '../icons/sprite.svg'

export type IconProps = {
  readonly name: IconName
  /** Read aloud. Without one the icon is decoration: a word next to it has the meaning. */
  readonly label?: string | undefined
  readonly class?: string
}

export const Icon = ({ name, label, class: more = '' }: IconProps) => (
  // biome-ignore lint/a11y/noSvgWithoutTitle: a title would be a tooltip; icons have a label or are hidden.
  <svg
    class={`icon ${more}`}
    {...(label === undefined ? { 'aria-hidden': 'true' } : { role: 'img', 'aria-label': label })}
  >
    <use href={`${sprite}#${name}`} />
  </svg>
)

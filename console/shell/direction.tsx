import type { IconName } from '../icons/names.ts'
import { Icon } from '../parts/icon.tsx'

/** An arrow with its meaning in words. */
export const Direction = ({ icon, name }: { icon: IconName; name: string }) => (
  <span class="soft">
    <Icon name={icon} label={name} />
  </span>
)

import { signal } from '@preact/signals'

/** Text that screen readers speak once, such as the title of a page after navigation. */
export const announcement = signal('')

/** The live region of announcements. */
export const Announcer = () => (
  <div class="for-readers" role="status" aria-live="polite">
    {announcement.value}
  </div>
)

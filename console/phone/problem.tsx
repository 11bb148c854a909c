import { Icon } from '../parts/icon.tsx'
import { words } from '../words/en/phone.ts'
import { act } from './tab-lock.ts'

/** A fault of the last act, with its remedy. */
export const ProblemRow = ({ text }: { text: string }) => (
  <p class="phone-problem" role="alert">
    <Icon name="triangle-alert" />
    <span>{text}</span>
    <button type="button" class="copy-button" onClick={() => act({ act: 'dismiss' })}>
      <Icon name="x" label={words.close} />
    </button>
  </p>
)

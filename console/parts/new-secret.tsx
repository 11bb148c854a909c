import type { ComponentChildren } from 'preact'
import { words } from '../words/en/parts.ts'
import { Banner } from './banner.tsx'
import { Button } from './button.tsx'
import { FormActions } from './form.tsx'
import { Copy } from './values.tsx'

type NewSecretProps = {
  readonly secret: string
  readonly onDone: () => void
  /** The use of the secret. */
  readonly children: ComponentChildren
}

/** A signing secret, which is shown once. */
export const NewSecret = ({ secret, onDone, children }: NewSecretProps) => (
  <div class="stack">
    <Banner tone="notice">{words.secret.once}</Banner>
    <p class="break">
      <Copy value={secret} what={words.secret.label} />
    </p>
    {children}
    <FormActions>
      <Button kind="primary" onClick={onDone} autofocus>
        {words.secret.done}
      </Button>
    </FormActions>
  </div>
)

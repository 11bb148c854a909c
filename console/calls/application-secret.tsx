import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { FormActions } from '../parts/form.tsx'
import { Copy } from '../parts/values.tsx'
import { words } from '../words/en/applications.ts'

/** The signing secret of an application, which is shown once. */
export const ApplicationSecret = ({ secret, onDone }: { readonly secret: string; readonly onDone: () => void }) => (
  <div class="stack">
    <Banner tone="notice">{words.secret.once}</Banner>
    <p class="break">
      <Copy value={secret} what={words.secret.label} />
    </p>
    <p class="soft">{words.secret.use}</p>
    <FormActions>
      <Button kind="primary" onClick={onDone} autofocus>
        {words.secret.done}
      </Button>
    </FormActions>
  </div>
)

import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { FormActions } from '../parts/form.tsx'
import { Copy, Moment } from '../parts/values.tsx'
import { words } from '../words/en/people.ts'
import type { Link } from './member.ts'

/** Shows a link once. */
export const NewLink = ({ link, onClose }: { link: Link | undefined; onClose: () => void }) => (
  <Dialog open={link !== undefined} title={words.linkTitle(link?.name ?? '')} onClose={onClose}>
    {link && (
      <div class="stack">
        <Banner tone="notice">{words.linkOnce}</Banner>
        <p>{words.linkHow(link.name)}</p>
        <p>
          <Copy value={link.url} what={words.link} />
        </p>
        <p class="soft">
          {words.linkUntil} <Moment time={link.until} show="exact" />
        </p>
        <FormActions>
          <Button kind="primary" onClick={onClose} autofocus>
            {words.done}
          </Button>
        </FormActions>
      </div>
    )}
  </Dialog>
)

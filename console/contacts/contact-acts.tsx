import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAct } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { showToast } from '../parts/toast.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/contacts.ts'
import { fullName } from '../words/format.ts'
import { type Contact, staleLists } from './contact-details.ts'

/** Blocks, unblocks and deletes a contact. */
export const ContactActs = ({ contact }: { contact: Contact }) => {
  const { route: go } = useLocation()
  const [asking, setAsking] = useState<'block' | 'remove'>()
  const name = fullName(contact)
  const params = { contact_uuid: contact.uuid }
  const close = () => {
    block.reset()
    remove.reset()
    setAsking(undefined)
  }
  const block = useAct('PUT /open/contacts/:contact_uuid/block', {
    stale: staleLists,
    after: () => {
      setAsking(undefined)
      showToast(words.contact.blockedNow(name))
    },
  })
  const unblock = useAct('DELETE /open/contacts/:contact_uuid/block', {
    stale: staleLists,
    after: () => showToast(words.contact.unblocked(name)),
    onError: ({ message }) => showToast(message, 'bad'),
  })
  const remove = useAct('DELETE /open/contacts/:contact_uuid', {
    stale: ['GET /open/contacts', 'GET /open/contacts/duplicates'],
    after: () => {
      showToast(words.contact.removed(name))
      go(paths.contacts(), true)
    },
  })
  const isRemoving = asking === 'remove'
  return (
    <>
      {contact.blocked ? (
        <Button icon="circle-check" busy={unblock.isPending} onClick={() => void unblock({ params })}>
          {words.contact.unblock}
        </Button>
      ) : (
        <Button icon="ban" onClick={() => setAsking('block')}>
          {words.contact.block}
        </Button>
      )}
      <Button kind="quiet" icon="trash-2" onClick={() => setAsking('remove')}>
        {words.contact.remove}
      </Button>
      <ConfirmDialog
        open={asking !== undefined}
        title={isRemoving ? words.contact.removeTitle(name) : words.contact.blockTitle(name)}
        act={isRemoving ? words.contact.remove : words.contact.block}
        danger
        busy={block.isPending || remove.isPending}
        error={(block.error ?? remove.error)?.message}
        onClose={close}
        onConfirm={() => void (isRemoving ? remove({ params }) : block({ params }))}
      >
        <p>{isRemoving ? words.contact.removeWhy : words.contact.blockWhy}</p>
      </ConfirmDialog>
    </>
  )
}

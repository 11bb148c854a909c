import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAct } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { showToast } from '../parts/toast.tsx'
import { Money } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/logs.ts'
import { phoneNumber } from '../words/format.ts'
import { type Message, sidesOf } from './message-state.tsx'

type Props = { readonly message: Message; readonly isOpen: boolean; readonly isMain: boolean }

/** Sends the same text as a new message, and opens its page. */
export const SendAgain = ({ message, isOpen, isMain }: Props) => {
  const { route: go } = useLocation()
  const { own, contact } = sidesOf(message)
  const here = paths.message({ message: message.uuid })
  const send = useAct('POST /open/sms/send', {
    after: ({ message_uuid: uuid }) => {
      showToast(words.message.sentAgain)
      go(paths.message({ message: uuid }))
    },
  })
  const preview = useAct('POST /open/sms/preview')
  const [price, setPrice] = useState<number>()
  useEffect(() => {
    if (isOpen && message.text !== '')
      void preview({ body: { to_number: contact, text: message.text } }).then((reply) => setPrice(reply?.price))
  }, [isOpen])
  const open = () => {
    send.reset()
    go(paths.message({ message: message.uuid }, { again: '1' }))
  }
  return (
    <>
      <Button kind={isMain ? 'primary' : 'plain'} icon="send" haspopup="dialog" onClick={open}>
        {words.message.sendAgain}
      </Button>
      <ConfirmDialog
        open={isOpen}
        title={words.message.sendAgainTitle}
        act={words.message.sendAgain}
        busy={send.isPending}
        error={send.error?.message}
        onClose={() => go(here, true)}
        onConfirm={() => void send({ body: { from_number: own, to_number: contact, text: message.text } })}
      >
        <p>{words.message.sendAgainWhy(phoneNumber(contact))}</p>
        {price !== undefined && (
          <p>
            {words.message.sendAgainPrice} <Money amount={String(price)} exact />
          </p>
        )}
      </ConfirmDialog>
    </>
  )
}

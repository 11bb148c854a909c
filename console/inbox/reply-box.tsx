import type { RefObject } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { asApiError } from '../api/errors.ts'
import { newIdempotencyKey } from '../api/send.ts'
import { Button } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Icon } from '../parts/icon.tsx'
import { Menu } from '../parts/menu.tsx'
import { showToast } from '../parts/toast.tsx'
import { Money } from '../parts/values.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { number as shownNumber } from '../words/format.ts'
import { attach, attachments, detach } from './attached-files.ts'
import { writeNote } from './conversation-acts.ts'
import { chooseEnterSends, enterSends } from './enter-preference.ts'
import type { Place } from './inbox-place.ts'
import { loadConversation } from './inbox-reader.ts'
import { putItems } from './inbox-store.ts'
import type { Channel, Conversation } from './inbox-types.ts'
import { textOf } from './item-state.ts'
import { shownName } from './list-row.tsx'
import { moved } from './moved-messages.ts'
import { MovedNotice } from './moved-notice.tsx'
import { closeAndNext } from './next-conversation.ts'
import { type SendOptions, sendReply } from './reply-sender.ts'
import { ReplyTabs } from './reply-tabs.tsx'
import { focusRequest, replyTo } from './reply-target.ts'
import { ReplyText } from './reply-text.tsx'
import { changeDraft, clearDraft, type DraftKind, draftOf, loadDraft } from './saved-drafts.ts'
import { unseenAnswers } from './seen-answers.ts'
import { channelFor, reasonOf, SimSwitch } from './sim-switch.tsx'
import { type Cost, useCost } from './sms-cost.ts'
import { mentionsIn } from './typing-suggestions.ts'

const AskTime = lazy(() => import('./snooze-until.tsx').then(({ AskTime }) => AskTime))

/** Parts and price of an SMS. */
const CostLine = ({ cost }: { cost: Cost | null }) =>
  cost && (
    <span class="box-cost tabular">
      <span class={cost.parts > 1 ? 'is-long' : ''}>
        {texts.box.segments(shownNumber(cost.used), shownNumber(cost.room))}
      </span>
      <span>{texts.box.parts(cost.parts)}</span>
      {cost.price !== undefined && <Money amount={cost.price} exact />}
      {cost.forcedBy && <span class="soft">{texts.box.ucs2(cost.forcedBy)}</span>}
      {cost.fault && <span class="is-failed">{cost.fault}</span>}
    </span>
  )

const ReplyTarget = ({ conversation }: { conversation: Conversation }) => {
  const target = replyTo.value
  if (target?.conversation !== conversation.uuid) return null
  const { item } = target
  return (
    <div class="box-target">
      <Icon name="reply" />
      <span class="cut">
        <strong dir="auto">
          {texts.box.replyingTo(item.direction === 'outbound' ? texts.item.you : shownName(conversation))}
        </strong>{' '}
        <span dir="auto">{textOf(item)}</span>
      </span>
      <button
        type="button"
        class="toast-close"
        onClick={() => {
          replyTo.value = null
        }}
      >
        <Icon name="x" label={texts.box.stopReply} />
      </button>
    </div>
  )
}

const Files = ({ conversation }: { conversation: string }) => {
  const files = attachments.value.filter((each) => each.conversation === conversation)
  if (files.length === 0) return null
  return (
    <ul class="box-files">
      {files.map(({ id, name, media }) => (
        <li key={id} class="box-file">
          <Icon name={media ? 'file' : 'loader-circle'} class={media ? '' : 'is-spinning'} />
          <span class="cut" dir="auto">
            {name}
          </span>
          {!media && (
            <span class="for-readers" role="status">
              {texts.box.uploading(name)}
            </span>
          )}
          <button type="button" class="toast-close" onClick={() => detach(id)}>
            <Icon name="x" label={texts.box.detach(name)} />
          </button>
        </li>
      ))}
    </ul>
  )
}

/** Why nothing can be written on the channel, in words. */
const useBlocked = ({ uuid, channels }: Conversation, channel: Channel | undefined): string | undefined => {
  // A row of the list may come without the channels, which are read now.
  const [isRead, setRead] = useState(channels.length > 0)
  useEffect(() => void loadConversation(uuid).then(() => setRead(true)), [uuid])
  return channel ? reasonOf(channel) : isRead ? texts.box.noChannel : undefined
}

/** Takes the focus when another part of the page asks for it, before the next key is read. */
const useFocusRequests = (onFocus: (kind: DraftKind) => void): void => {
  const kind = focusRequest.value
  useLayoutEffect(() => {
    if (kind === null) return
    focusRequest.value = null
    onFocus(kind)
  }, [kind])
}

/** Stores notes for colleagues, one at a time. */
const useNoteWriter = (conversation: string) => {
  const [isBusy, setBusy] = useState(false)
  const key = useRef(newIdempotencyKey())
  const write = async (text: string) => {
    if (isBusy) return
    setBusy(true)
    try {
      const item = await writeNote(conversation, text.trim(), mentionsIn(text), key.current)
      key.current = newIdempotencyKey()
      putItems(conversation, [item])
      clearDraft(conversation, 'note')
    } catch (thrown) {
      showToast(asApiError(thrown).message, 'bad')
    } finally {
      setBusy(false)
    }
  }
  return { isBusy, write }
}

/** Takes files that are dropped on an element. */
const useDrop = (isOff: boolean, onFiles: (files: Iterable<File>) => void) => {
  const [isDropping, setDropping] = useState(false)
  const handlers = {
    onDragOver: (event: DragEvent) => {
      if (isOff || !event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      setDropping(true)
    },
    onDragLeave: () => setDropping(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      setDropping(false)
      onFiles(event.dataTransfer?.files ?? [])
    },
  }
  return { isDropping, handlers }
}

type SendMenuProps = { readonly isSms: boolean; readonly onClose: () => void; readonly onLater: () => void }

/** Other ways to send a reply. */
const SendMenu = ({ isSms, onClose, onLater }: SendMenuProps) => (
  <Menu
    label={texts.box.options}
    icon="chevron-up"
    items={[
      { text: texts.box.sendClose, hint: 'Ctrl Shift Enter', onSelect: onClose },
      ...(isSms ? [{ text: texts.box.later, icon: 'clock' as const, onSelect: onLater }] : []),
      {
        text: texts.box.enterSetting,
        checked: enterSends(),
        divided: true,
        onSelect: () => chooseEnterSends(!enterSends()),
      },
    ]}
  />
)

type Props = { readonly conversation: Conversation; readonly place: Place }

/** The reply or note of a person: where it goes, what it has, and what hinders it. */
const useReply = ({ conversation, place }: Props, box: RefObject<HTMLTextAreaElement | null>) => {
  const { uuid } = conversation
  const [kind, setKind] = useState<DraftKind>('message')
  const isNote = kind === 'note'
  const { text } = draftOf(uuid, kind).value
  const channel = channelFor(conversation, draftOf(uuid, 'message').value.channel)
  const blocked = useBlocked(conversation, channel)
  const files = attachments.value.filter((each) => each.conversation === uuid)
  const isUploading = files.some(({ media }) => media === undefined)
  const canAttach = !isNote && channel?.kind === 'msgapp'
  const cost = useCost(!isNote && channel?.kind === 'sms' ? conversation.number : undefined, text)
  const note = useNoteWriter(uuid)
  useFocusRequests((next) => {
    setKind(next)
    box.current?.focus()
  })
  useEffect(() => {
    if (isNote) void loadDraft(uuid, 'note')
  }, [isNote])

  const submit = (options: SendOptions = {}) => {
    const isEmpty = text.trim() === '' && (isNote || files.length === 0)
    if (isEmpty || isUploading) return
    if (isNote) return void note.write(text)
    if (!channel || blocked !== undefined) return
    const reply = { conversation: uuid, channel: channel.channel_uuid, text: text.trim(), files }
    const isFree = sendReply(reply, options)
    box.current?.focus()
    if (options.close && isFree) void closeAndNext(place, uuid, false)
  }
  const addFiles = (list: Iterable<File>) => {
    const added = [...list]
    if (added.length === 0) return
    if (!canAttach) return showToast(texts.box.noMedia, 'notice')
    for (const file of added) void attach(uuid, file)
  }
  const isMoved = !isNote && moved.value.has(uuid)
  const isReading = isMoved && unseenAnswers(uuid).length > 0
  const isBusy = note.isBusy || isUploading || isReading
  return { kind, setKind, isNote, channel, blocked, cost, canAttach, isMoved, isBusy, submit, addFiles }
}

/** Where a person answers: a reply by SMS or the app, or a note for colleagues. */
export const ReplyBox = ({ conversation, place }: Props) => {
  const { uuid } = conversation
  const id = useId()
  const box = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const [isScheduling, setScheduling] = useState(false)
  const reply = useReply({ conversation, place }, box)
  const { kind, isNote, channel, blocked, canAttach, isMoved, submit, addFiles } = reply
  const { isDropping, handlers } = useDrop(isNote, addFiles)
  return (
    <div class={classes('box', isNote && 'is-note', isDropping && 'is-dropping')} {...handlers}>
      {isMoved && <MovedNotice conversation={conversation} />}
      <div class="box-head">
        <ReplyTabs id={id} kind={kind} onKind={reply.setKind} onClick={() => box.current?.focus()} />
        {!isNote && channel && (
          <SimSwitch
            conversation={conversation}
            channel={channel}
            onChoose={(next) => changeDraft(uuid, 'message', { channel: next })}
          />
        )}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${kind}`} class="box-panel">
        {!isNote && blocked !== undefined && (
          <p class="box-blocked" role="status">
            <Icon name="ban" /> {blocked}
          </p>
        )}
        <ReplyTarget conversation={conversation} />
        <ReplyText {...{ id, box, conversation, kind, channel }} onSend={submit} onFiles={addFiles} />
        {!isNote && <Files conversation={uuid} />}
        <div class="box-foot">
          {isNote ? <span class="soft">{texts.box.notePlaceholder}</span> : <CostLine cost={reply.cost} />}
          <span class="box-acts">
            {canAttach && (
              <Button kind="quiet" icon="paperclip" iconOnly onClick={() => picker.current?.click()}>
                {texts.box.attach}
              </Button>
            )}
            {!isNote && (
              <SendMenu
                isSms={channel?.kind === 'sms'}
                onClose={() => submit({ close: true })}
                onLater={() => setScheduling(true)}
              />
            )}
            <Button
              kind="primary"
              icon="send"
              busy={reply.isBusy}
              reason={isNote ? undefined : blocked}
              onClick={() => submit()}
            >
              {isNote ? texts.box.sendNote : isMoved ? texts.box.sendAnyway : texts.box.send}
            </Button>
          </span>
        </div>
      </div>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          addFiles(currentTarget.files ?? [])
          currentTarget.value = ''
        }}
      />
      {isDropping && <p class="box-drop">{texts.box.drop}</p>}
      {isScheduling && (
        <AskTime
          title={texts.box.laterTitle}
          act={texts.box.schedule}
          onClose={() => setScheduling(false)}
          onTime={(at) => submit({ sendAt: at })}
        />
      )}
    </div>
  )
}

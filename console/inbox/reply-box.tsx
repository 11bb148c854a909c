import { useEffect, useId, useRef, useState } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { asApiError } from '../api/errors.ts'
import { useQuery } from '../api/query.ts'
import { newIdempotencyKey } from '../api/send.ts'
import { announcePresence } from '../live/presence.ts'
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
import { loadConversation, loadThread } from './inbox-reader.ts'
import { putItems, threadOf } from './inbox-store.ts'
import type { Conversation } from './inbox-types.ts'
import { textOf } from './item-state.ts'
import { shownName } from './list-row.tsx'
import { moved, setMoved } from './moved-messages.ts'
import { MovedNotice } from './moved-notice.tsx'
import { closeAndNext } from './next-conversation.ts'
import { sendMessage } from './outbox.ts'
import { laterOf } from './outbox-rules.ts'
import { focusBox, replyTo } from './reply-target.ts'
import { changeDraft, clearDraft, type DraftKind, draftOf, loadDraft } from './saved-drafts.ts'
import { channelFor, reasonOf, SimSwitch } from './sim-switch.tsx'
import { type Cost, useCost } from './sms-cost.ts'
import { type Suggestion, SuggestionList, suggestionsLabel, useSuggestions } from './suggestion-list.tsx'
import { mentionsIn, suggestionsFor } from './typing-suggestions.ts'
import { replaceTrigger, triggerAt } from './typing-trigger.ts'

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

type Props = { readonly conversation: Conversation; readonly place: Place }

/** Where a person answers: a reply by SMS or the app, or a note for colleagues. */
export const ReplyBox = ({ conversation, place }: Props) => {
  const { uuid } = conversation
  const id = useId()
  const box = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const [kind, setKind] = useState<DraftKind>('message')
  const [caret, setCaret] = useState(0)
  const [isDropping, setDropping] = useState(false)
  const [isScheduling, setScheduling] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const noteKey = useRef(newIdempotencyKey())
  const isNote = kind === 'note'
  const draft = draftOf(uuid, kind).value
  const { text } = draft
  const channel = channelFor(conversation, draftOf(uuid, 'message').value.channel)
  // A row of the list may come without the channels, which are read now.
  const [isRead, setRead] = useState(conversation.channels.length > 0)
  useEffect(() => void loadConversation(uuid).then(() => setRead(true)), [uuid])
  const blocked = channel ? reasonOf(channel) : isRead ? texts.box.noChannel : undefined
  const files = attachments.value.filter((each) => each.conversation === uuid)
  const isUploading = files.some(({ media }) => media === undefined)
  const canAttach = !isNote && channel?.kind === 'msgapp'
  const cost = useCost(!isNote && channel?.kind === 'sms' ? conversation.number : undefined, text)

  const trigger = triggerAt(text, caret, isNote ? ['@'] : ['/'])
  const replies = useQuery('GET /open/replies', {
    query: { conversation_uuid: uuid, ...(channel ? { channel_uuid: channel.channel_uuid } : {}) },
    enabled: trigger?.sign === '/',
  })
  const suggestions = trigger ? suggestionsFor(trigger, replies.data?.replies ?? []) : []

  const setText = (next: string, cursor: number) => {
    changeDraft(uuid, kind, { text: next })
    setCaret(cursor)
  }
  const choose = ({ text: chosen }: Suggestion) => {
    if (!trigger) return
    const next = replaceTrigger(text, trigger, chosen)
    setText(next.text, next.cursor)
    const { current } = box
    if (!current) return
    // At once: a person who types on would find the cursor moved by a later frame.
    current.value = next.text
    current.focus()
    current.setSelectionRange(next.cursor, next.cursor)
  }
  const suggest = useSuggestions(trigger ? `${trigger.sign}${trigger.text}` : undefined, suggestions, choose)

  const wanted = focusBox.value
  const firstWanted = useRef(wanted.n)
  useEffect(() => {
    if (wanted.n === firstWanted.current) return
    setKind(wanted.kind)
    requestAnimationFrame(() => box.current?.focus())
  }, [wanted.n])
  useEffect(() => {
    if (isNote) void loadDraft(uuid, 'note')
  }, [isNote])

  const isMoved = !isNote && moved.value.has(uuid)
  const isEmpty = text.trim() === '' && (isNote || files.length === 0)

  const addNote = async () => {
    if (isBusy) return
    setBusy(true)
    try {
      const item = await writeNote(uuid, text.trim(), mentionsIn(text), noteKey.current)
      noteKey.current = newIdempotencyKey()
      putItems(uuid, [item])
      clearDraft(uuid, 'note')
    } catch (thrown) {
      showToast(asApiError(thrown).message, 'bad')
    } finally {
      setBusy(false)
    }
  }
  const submit = (more: { close?: boolean; sendAt?: string } = {}) => {
    if (isEmpty || isUploading) return
    if (isNote) return void addNote()
    if (!channel || blocked !== undefined) return
    const thread = threadOf(uuid).peek()
    // Items that came meanwhile were shown above the text, and may be newer than the page of the thread.
    const seen = laterOf(thread?.items.at(-1)?.uuid, moved.peek().get(uuid)?.[0]?.uuid)
    const target = replyTo.peek()
    const base = {
      channel_uuid: channel.channel_uuid,
      ...(seen ? { seen } : {}),
      ...(more.sendAt ? { send_at: more.sendAt } : {}),
      ...(target?.conversation === uuid ? { reply_to: target.item.uuid } : {}),
    }
    const last = { ...(more.close ? { close: true } : {}) }
    const message = text.trim()
    // Each file is a message of its own; the text goes with the first.
    if (files.length === 0) sendMessage(uuid, { ...base, ...last, text: message })
    for (const [index, { media, name, type }] of files.entries())
      sendMessage(
        uuid,
        {
          ...base,
          ...(index === files.length - 1 ? last : {}),
          ...(media ? { media_uuid: media } : {}),
          ...(index === 0 && message ? { text: message } : {}),
        },
        { name, type },
      )
    for (const { id: file } of files) detach(file)
    replyTo.value = null
    setMoved(uuid, undefined)
    clearDraft(uuid, 'message')
    // The thread was opened at an old message: what was sent is at its end.
    if (thread?.newer !== undefined) void loadThread(uuid)
    announcePresence(uuid, 'viewing')
    box.current?.focus()
    if (more.close) void closeAndNext(place, uuid, false)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (suggest.onKey(event) || event.isComposing) return
    const isChord = event.ctrlKey || event.metaKey
    const digit = event.altKey ? Number(event.code.replace('Digit', '')) : 0
    const chosen = digit >= 1 ? conversation.channels[digit - 1] : undefined
    if (chosen && !isNote) {
      event.preventDefault()
      changeDraft(uuid, 'message', { channel: chosen.channel_uuid })
    } else if (event.key === 'Enter' && isChord && event.shiftKey && !isNote) {
      event.preventDefault()
      submit({ close: true })
    } else if (event.key === 'Enter' && (isChord || (enterSends() && !event.shiftKey && !event.altKey))) {
      event.preventDefault()
      submit()
    } else if (event.key === 'Escape') {
      event.preventDefault()
      box.current?.blur()
      document.querySelector<HTMLElement>(`[data-row="${uuid}"]`)?.focus()
    }
  }
  const addFiles = (list: Iterable<File>) => {
    const found = [...list]
    if (found.length === 0) return
    if (!canAttach) return showToast(texts.box.noMedia, 'notice')
    for (const file of found) void attach(uuid, file)
  }
  const name = shownName(conversation)
  const tabs: readonly DraftKind[] = ['message', 'note']
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files are dropped on the box; the button attaches them too.
    <div
      class={classes('box', isNote && 'is-note', isDropping && 'is-dropping')}
      onDragOver={(event) => {
        if (isNote || !event.dataTransfer?.types.includes('Files')) return
        event.preventDefault()
        setDropping(true)
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={(event) => {
        event.preventDefault()
        setDropping(false)
        addFiles(event.dataTransfer?.files ?? [])
      }}
    >
      {isMoved && <MovedNotice conversation={conversation} />}
      <div class="box-head">
        <div role="tablist" aria-label={texts.box.tabs} class="box-tabs">
          {tabs.map((each) => (
            <button
              key={each}
              type="button"
              role="tab"
              id={`${id}-${each}`}
              aria-selected={kind === each}
              aria-controls={`${id}-panel`}
              tabIndex={kind === each ? 0 : -1}
              class="box-tab"
              onClick={() => {
                setKind(each)
                box.current?.focus()
              }}
              onKeyDown={(event) => {
                if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
                const next = each === 'message' ? 'note' : 'message'
                setKind(next)
                document.getElementById(`${id}-${next}`)?.focus()
              }}
            >
              {each === 'message' ? texts.box.reply : texts.box.note}
            </button>
          ))}
        </div>
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
        <textarea
          ref={box}
          class="box-text"
          rows={1}
          dir="auto"
          aria-label={isNote ? texts.box.noteLabel : texts.box.replyLabel(name)}
          aria-autocomplete="list"
          aria-controls={suggest.isOpen ? `${id}-list` : undefined}
          aria-activedescendant={suggest.isOpen ? `${id}-list-${suggest.active}` : undefined}
          aria-keyshortcuts={isNote ? 'n' : 'r'}
          placeholder={isNote ? texts.box.noteHint : texts.box.replyHint}
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value, currentTarget.selectionStart)
            announcePresence(uuid, isNote ? 'viewing' : 'typing')
          }}
          onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart)}
          onKeyDown={onKeyDown}
          onBlur={suggest.close}
          onPaste={(event) => {
            const pasted = event.clipboardData?.files
            if (!pasted || pasted.length === 0) return
            event.preventDefault()
            addFiles(pasted)
          }}
        />
        <SuggestionList
          id={`${id}-list`}
          label={suggestionsLabel(trigger?.sign ?? '/')}
          suggestions={suggestions}
          state={suggest}
          onChoose={choose}
        />
        {!isNote && <Files conversation={uuid} />}
        <div class="box-foot">
          {isNote ? <span class="soft">{texts.box.notePlaceholder}</span> : <CostLine cost={cost} />}
          <span class="box-acts">
            {canAttach && (
              <Button kind="quiet" icon="paperclip" iconOnly onClick={() => picker.current?.click()}>
                {texts.box.attach}
              </Button>
            )}
            {!isNote && (
              <Menu
                label={texts.box.options}
                icon="chevron-up"
                items={[
                  { text: texts.box.sendClose, hint: 'Ctrl Shift Enter', onSelect: () => submit({ close: true }) },
                  ...(channel?.kind === 'sms'
                    ? [{ text: texts.box.later, icon: 'clock' as const, onSelect: () => setScheduling(true) }]
                    : []),
                  {
                    text: texts.box.enterSetting,
                    checked: enterSends(),
                    divided: true,
                    onSelect: () => chooseEnterSends(!enterSends()),
                  },
                ]}
              />
            )}
            <Button
              kind="primary"
              icon="send"
              busy={isBusy || isUploading}
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

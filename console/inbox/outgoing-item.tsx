import { may } from '../api/session.ts'
import { line } from '../live/socket.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Icon } from '../parts/icon.tsx'
import { paths } from '../paths.ts'
import { words as texts } from '../words/en/conversation.ts'
import { clock } from '../words/format.ts'
import { reattach } from './attached-files.ts'
import type { Conversation } from './inbox-types.ts'
import { sendOutgoingAgain, takeBack } from './outbox.ts'
import type { Outgoing } from './outbox-rules.ts'
import { focusReply } from './reply-target.ts'
import { changeDraft, draftOf } from './saved-drafts.ts'
import { seenUntil } from './seen-answers.ts'
import { LinkedText } from './thread-item.tsx'

/** True without a connection, as far as the browser and the line know. */
const isOffline = (): boolean => !navigator.onLine || line.value.state === 'lost'

const stateText = ({ state }: Outgoing): string => {
  if (state === 'refused') return texts.states.refused
  if (state === 'expired') return texts.states.expired
  return state === 'waiting' || isOffline() ? texts.states.waiting : texts.states.sending
}

/** The text of a message, back in the box. */
const edit = (entry: Outgoing): void => {
  const taken = takeBack(entry.id)
  if (!taken) return
  const { text } = draftOf(entry.conversation, 'message').peek()
  changeDraft(entry.conversation, 'message', {
    text: [taken.body.text ?? '', text].filter(Boolean).join('\n'),
    channel: taken.body.channel_uuid,
  })
  reattach(taken)
  focusReply('message')
}

/** A message on its way to the server, with what the person can do about it. */
export const OutgoingItem = ({ entry, conversation }: { entry: Outgoing; conversation: Conversation }) => {
  const { state, refusal, body, file } = entry
  const isFailed = state === 'refused' || state === 'expired'
  const canTakeBack = isFailed || state === 'waiting' || isOffline()
  return (
    <li class="thread-item">
      <div class="message message-out is-first is-last">
        <div class="message-body">
          <div class={classes('bubble', 'is-waiting', isFailed && 'is-failed')}>
            <span class="for-readers">{texts.item.you}: </span>
            {file && (
              <p class="media-file">
                <Icon name="file" /> <span dir="auto">{file.name}</span>
              </p>
            )}
            {body.text && <LinkedText text={body.text} />}
          </div>
        </div>
        <p class={classes('bubble-meta', isFailed && 'is-failed')}>
          <span>{texts.item.you}</span>
          <time class="tabular" dateTime={new Date(entry.at).toISOString()}>
            {clock(entry.at)}
          </time>
          <span class="bubble-state">
            <Icon name={isFailed ? 'circle-alert' : 'clock'} /> {stateText(entry)}
          </span>
        </p>
        {canTakeBack && (
          // biome-ignore lint/a11y/useSemanticElements: the acts are no fields of a form.
          <div class={isFailed ? 'message-fault' : 'message-acts'} role="group" aria-label={stateText(entry)}>
            {refusal && <p>{refusal.message}</p>}
            {state === 'expired' && <p>{texts.failed.expired}</p>}
            <p class="row">
              {isFailed && (
                <Button
                  size="small"
                  icon="refresh-cw"
                  onClick={() => sendOutgoingAgain(entry.id, seenUntil(entry.conversation))}
                >
                  {state === 'expired' ? texts.failed.sendNow : texts.failed.again}
                </Button>
              )}
              {body.text && (
                <Button size="small" icon="pencil" onClick={() => edit(entry)}>
                  {isFailed ? texts.failed.edit : texts.failed.takeBack}
                </Button>
              )}
              <Button size="small" kind="quiet" icon="trash-2" onClick={() => takeBack(entry.id)}>
                {texts.failed.remove}
              </Button>
              {refusal?.status === 402 && may('money') && (
                <ButtonLink size="small" kind="quiet" href={paths.money()}>
                  {texts.failed.topUp}
                </ButtonLink>
              )}
              {refusal && refusal.status !== 402 && conversation.channels.length > 1 && (
                <Button size="small" kind="quiet" onClick={() => edit(entry)}>
                  {texts.failed.otherChannel}
                </Button>
              )}
            </p>
          </div>
        )}
      </div>
    </li>
  )
}

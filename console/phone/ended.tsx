import { useState } from 'preact/hooks'
import { api, type ReplyOf } from '../api/client.ts'
import { asApiError } from '../api/errors.ts'
import { useQuery } from '../api/query.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Menu } from '../parts/menu.tsx'
import { showToast } from '../parts/toast.tsx'
import { paths } from '../paths.ts'
import { callNumber } from '../shell/phone.ts'
import type { EndedCall } from '../shell/phone-state.ts'
import { words } from '../words/en/phone.ts'
import { phoneNumber, stopwatch } from '../words/format.ts'
import { conversationOf, hasConversation } from './caller-conversation.ts'
import { nameOf, numberOf } from './names.ts'
import { NoteForm } from './note.tsx'
import { act } from './tab-lock.ts'

type TagRow = ReplyOf<'GET /open/tags'>['tags'][number]

const hour = 3_600_000

const attempt = async (run: () => Promise<unknown>, done: string) => {
  try {
    await run()
    showToast(done)
  } catch (error) {
    showToast(asApiError(error).message, 'bad')
  }
}

/** Tags and the next step of the conversation. */
const Outcome = ({ ended }: { ended: EndedCall }) => {
  const tags = useQuery('GET /open/tags', {})
  const change = async (body: { status: 'closed' } | { snoozed_until: string }) => {
    const params = { conversation_uuid: await conversationOf(ended) }
    await api('PATCH /open/conversations/:conversation_uuid', { params, body })
  }
  const tag = async ({ uuid }: TagRow) => {
    const params = { conversation_uuid: await conversationOf(ended), tag_uuid: uuid }
    await api('PUT /open/conversations/:conversation_uuid/tags/:tag_uuid', { params })
  }
  const rows = tags.data?.tags ?? []
  return (
    <fieldset class="phone-next">
      <legend class="for-readers">{words.note.outcome}</legend>
      {rows.length > 0 && (
        <Menu
          label={words.note.tag}
          kind="plain"
          size="small"
          items={rows.map((row) => ({
            text: row.name,
            icon: 'tag' as const,
            onSelect: () => void attempt(() => tag(row), words.note.tagged(row.name)),
          }))}
        >
          {words.note.tag}
        </Menu>
      )}
      <Button
        size="small"
        icon="clock"
        onClick={() =>
          void attempt(() => change({ snoozed_until: new Date(Date.now() + hour).toISOString() }), words.note.laterDone)
        }
      >
        {words.note.later}
      </Button>
      <Button
        size="small"
        icon="check"
        onClick={() => void attempt(() => change({ status: 'closed' }), words.note.closed)}
      >
        {words.note.close}
      </Button>
    </fieldset>
  )
}

const isGood = ({ outcome }: EndedCall): boolean => outcome === 'hangup' || outcome === 'canceled'

/** The end of a call: its outcome, a note about it, and the next step. */
export const Ended = ({ ended }: { ended: EndedCall }) => {
  const [isNoting, setNoting] = useState(ended.seconds !== undefined)
  const { outcome, detail, seconds, uuid, own, conversation } = ended
  const number = numberOf(ended)
  const hasNote = hasConversation(ended)
  return (
    <div class={isGood(ended) ? 'phone-row is-over' : 'phone-row is-over is-bad'}>
      <div class="phone-line">
        <span class="phone-sign">
          <Icon name={outcome === 'missed' ? 'phone-missed' : 'phone-off'} />
        </span>
        <div class="phone-who" role="status">
          <span class="phone-state">{words.outcomes[outcome]}</span>
          <strong class="cut" dir="auto">
            {nameOf(ended)}
          </strong>
          <span class="phone-facts">
            {ended.name && number && <bdi dir="ltr">{number}</bdi>}
            {own && <span>{words.on(phoneNumber(own))}</span>}
            {outcome === 'failed' && detail && <span>{detail}</span>}
          </span>
        </div>
        {seconds !== undefined && <span class="phone-timer tabular">{stopwatch(seconds)}</span>}
        <div class="phone-acts">
          {/* First: the record comes a moment later, and nothing to the right moves. */}
          {conversation && (
            <ButtonLink icon="message-square" kind="quiet" href={paths.inbox({ view: 'all', conversation })}>
              {words.conversation}
            </ButtonLink>
          )}
          {uuid && (
            <ButtonLink icon="phone" kind="quiet" href={paths.call({ call: uuid })}>
              {words.details}
            </ButtonLink>
          )}
          {number && (
            <Button icon="phone" onClick={() => callNumber(ended.number, own === undefined ? {} : { from: own })}>
              {ended.direction === 'inbound' ? words.callBack : words.callAgain}
            </Button>
          )}
          {hasNote && (
            <Button icon="pencil" expanded={isNoting} onClick={() => setNoting(!isNoting)}>
              {words.notes}
            </Button>
          )}
          <Button kind="quiet" icon="x" iconOnly onClick={() => act({ act: 'dismiss' })}>
            {words.close}
          </Button>
        </div>
      </div>
      {hasNote && isNoting && (
        <div class="phone-pane phone-after">
          <NoteForm call={ended} />
          <Outcome ended={ended} />
        </div>
      )}
    </div>
  )
}

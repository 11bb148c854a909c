import { may } from '../api/session.ts'
import type { IconName } from '../icons/names.ts'
import { Button } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Icon } from '../parts/icon.tsx'
import { paths } from '../paths.ts'
import { callNumber } from '../shell/phone.ts'
import { words as texts } from '../words/en/conversation.ts'
import { clock, exactTime, stopwatch } from '../words/format.ts'
import type { Item, ThreadTarget } from './inbox-types.ts'
import { memberName } from './team-members.ts'

type Call = NonNullable<Item['call']>

const titleOf = ({ direction, status, active }: Call): { text: string; icon: IconName; isMissed: boolean } => {
  const isIn = direction === 'I'
  const plain = (text: string, icon: IconName = isIn ? 'phone-incoming' : 'phone-outgoing', isMissed = false) => ({
    ...{ text, icon, isMissed },
  })
  if (active) return plain(status === 'RINGING' ? texts.item.ringing : texts.item.inProgress)
  if (status === 'COMPLETED' || status === 'ANSWERED')
    return plain(isIn ? texts.item.inboundCall : texts.item.outboundCall)
  if (isIn) return plain(texts.item.missedCall, 'phone-missed', true)
  if (status === 'BUSY') return plain(texts.item.busyCall, 'phone-off')
  if (status === 'CANCELED') return plain(texts.item.canceledCall, 'phone-off')
  return plain(status === 'FAILED' ? texts.item.failedCall : texts.item.noAnswer, 'phone-off')
}

/** A call in a thread: what became of it, how long it was, and its recording. */
export const CallItem = ({ item, conversation }: { item: Item; conversation: ThreadTarget }) => {
  const { call } = item
  const title = call
    ? titleOf(call)
    : {
        text: texts.item.appCall,
        icon: item.direction === 'inbound' ? ('phone-incoming' as const) : ('phone-outgoing' as const),
        isMissed: false,
      }
  const length = call?.duration ?? 0
  const agent = memberName(call?.agent_id)
  return (
    <div class={classes('call', title.isMissed && 'is-missed')}>
      <p class="call-line">
        <Icon name={title.icon} />
        <strong>{title.text}</strong>
        {length > 0 && <span class="tabular">{stopwatch(length)}</span>}
        {agent && <span dir="auto">{call?.direction === 'I' ? texts.item.to(agent) : texts.item.from(agent)}</span>}
        <time class="tabular soft" dateTime={item.at} title={exactTime(item.at)}>
          {clock(item.at)}
        </time>
      </p>
      {(call?.recording_url || (title.isMissed && conversation.number) || (call && may('read_only'))) && (
        <p class="call-acts">
          {call?.recording_url && (
            // biome-ignore lint/a11y/useMediaCaption: a recording of a telephone call has no captions.
            <audio controls preload="none" src={call.recording_url} aria-label={texts.item.recording} />
          )}
          {title.isMissed && conversation.number && (
            <Button size="small" icon="phone" onClick={() => callNumber(conversation.number ?? '')}>
              {texts.item.callBack}
            </Button>
          )}
          {call && may('read_only') && <a href={paths.call({ call: call.uuid })}>{texts.item.callDetails}</a>}
        </p>
      )}
    </div>
  )
}

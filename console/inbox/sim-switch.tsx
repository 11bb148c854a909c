import { Icon } from '../parts/icon.tsx'
import { Menu } from '../parts/menu.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { words } from '../words/en/inbox.ts'
import { phoneNumber } from '../words/format.ts'
import type { Channel, Conversation } from './inbox-types.ts'
import { compareIds } from './item-order.ts'

/** Why nothing can be written on a channel, in words. */
export const reasonOf = ({ can_write, reason }: Channel): string | undefined =>
  can_write ? undefined : texts.box.cannot[reason ?? 'not_supported']

export const channelName = ({ kind, phone_number }: Channel): string =>
  `${words.kinds[kind]} · ${phoneNumber(phone_number)}`

/** The channels in an order of their own, oldest first, whichever was used last: Alt 1 is the same one after each answer. */
export const orderedChannels = ({ channels }: Pick<Conversation, 'channels'>): readonly Channel[] =>
  [...channels].sort((a, b) => compareIds(a.channel_uuid, b.channel_uuid))

/**
 * The channel that a reply goes by: the chosen one, else that of the last message if it can be written on. A person who
 * has opted out of one channel is not written to on another by itself.
 */
export const channelFor = (conversation: Conversation, chosen: string | undefined): Channel | undefined => {
  const { channels } = conversation
  const [last] = channels
  return (
    channels.find(({ channel_uuid }) => channel_uuid === chosen) ??
    (last?.reason === 'opted_out' ? last : channels.find(({ can_write }) => can_write)) ??
    last
  )
}

type Props = {
  readonly conversation: Conversation
  readonly channel: Channel
  readonly onChoose: (channel: string) => void
}

/** Chooses the number or app channel that a reply goes by. */
export const SimSwitch = ({ conversation, channel, onChoose }: Props) => {
  const { channels } = conversation
  const content = (
    <span class="sim-name">
      <Icon name={channel.kind === 'sms' ? 'smartphone' : 'message-square'} />
      <span class="for-readers">{texts.box.channelOf('')}</span>
      <span class="cut">{channelName(channel)}</span>
    </span>
  )
  if (channels.length < 2) return <span class="sim">{content}</span>
  return (
    <span class="sim" data-act="channel">
      <Menu
        label={texts.box.channel}
        kind="quiet"
        size="small"
        items={orderedChannels(conversation).map((each, index) => ({
          text: channelName(each),
          checked: each.channel_uuid === channel.channel_uuid,
          // A channel that is out of reach can be chosen: the box then says why it is.
          hint: reasonOf(each) ?? (index < 9 ? `Alt ${index + 1}` : ''),
          onSelect: () => onChoose(each.channel_uuid),
        }))}
      >
        {content}
      </Menu>
    </span>
  )
}

import { ok, route } from '../../../platform/http/endpoint.ts'
import type { Services } from '../../../services.ts'
import { requireUpload } from '../../msgapp/media/ops.ts'
import { accessOf } from '../access.ts'
import { applyItems } from '../apply-items.ts'
import { changeConversations } from '../change-conversation.ts'
import { findChannel } from '../conversation-channel.ts'
import { lockConversation, requireQuoted } from '../find-conversation.ts'
import { makeItemPresenter } from '../item-presenter.ts'
import { loadItems } from '../item-sources.ts'
import { maxShownItems } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { sendOn } from './send.ts'
import * as store from './store.ts'

/** Routes of messages that people write in conversations. */
export const conversationMessageRoutes = (services: Services) => {
  const present = makeItemPresenter(services)

  return [
    route(c.sendConversationMessage, async ({ params, body, tx, ...call }) => {
      const { account } = call
      const access = await accessOf(tx, call)
      // Two agents who send at once wait here for each other: the second one sees the message of the first.
      const conversation = await lockConversation(tx, access, params.conversation_uuid)
      const channel = await findChannel(tx, account.id, body.channel_uuid)
      if (body.media_uuid !== undefined) await requireUpload(tx, account.id, body.media_uuid)
      if (body.reply_to !== undefined) await requireQuoted(tx, account.id, conversation, body.reply_to)
      if (body.seen !== undefined && !body.anyway) {
        const [seen = '', answer = ''] = [body.seen, body.seen_answer ?? body.seen].map((id) =>
          id.slice(3).toLowerCase(),
        )
        const newer = await store.newerThan(
          tx,
          { account: account.id, conversation: conversation.id, user: access.userId },
          { seen, answer },
          maxShownItems,
        )
        if (newer.length > 0) throw refusals.moved(await present(tx, account.id, newer))
      }
      const id = await sendOn(services, tx, account, conversation, channel, body)
      const [sent] = await loadItems(tx, account.id, [{ kind: channel.kind, id }])
      if (!sent) throw new Error('the sent message is missing')
      const { counterpart, group_id: group } = conversation
      const item = { ...sent, counterpart, group, former: null, user: access.userId, answers: true }
      const [applied] = await applyItems(tx, account.id, [item], 'live', access.userId)
      const assignee = body.assign_me && access.userId !== null ? { assignee: access.userId } : {}
      const change = { ...(body.close ? { status: 'closed' as const } : {}), ...assignee }
      if (applied && Object.keys(change).length > 0) await changeConversations(tx, [applied.row], change, access.userId)
      const [shown] = await present(tx, account.id, [
        {
          id,
          kind: item.kind,
          direction: 'outbound',
          user_id: access.userId,
          channel_id: item.channel,
          at: item.at,
          change: null,
        },
      ])
      if (!shown) throw new Error('the sent message is not shown')
      return ok({ item: shown })
    }),
  ]
}

import { isField } from '../shell/expected-field.ts'
import { callNumber } from '../shell/phone.ts'
import { type Shortcut, useShortcuts } from '../shell/shell-keys.ts'
import { words } from '../words/en/inbox.ts'
import { assignConversation, markUnread, reopenConversation } from './conversation-acts.ts'
import type { Place } from './inbox-place.ts'
import { peekConversation } from './inbox-store.ts'
import { focusRow } from './list-pane.tsx'
import { clearSelection, cursor, rowBeside, selectAll, selection, toggleSelected } from './list-selection.ts'
import { closeAndNext } from './next-conversation.ts'
import { focusReply } from './reply-target.ts'
import { stepDay } from './step-day.ts'
import { ownUser } from './team-members.ts'

/** The row of the keyboard: the focused one, else the open conversation. */
const currentRow = (place: Place): string => {
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.row : undefined
  return focused ?? (cursor.peek() || place.conversation)
}

const press = (act: string): void => {
  const places = ['.inbox-thread', '.inbox-list'].map((pane) => `${pane} [data-act="${act}"] button`)
  const button = document.querySelector<HTMLElement>(places.join())
  // Tab goes on from the button, and Escape comes back to it.
  button?.focus()
  button?.click()
}

const move = (place: Place, step: 1 | -1, isRange = false): void => {
  const from = currentRow(place)
  const next = rowBeside(from, step)
  if (!next) return
  if (isRange) {
    if (!selection.peek().has(from)) toggleSelected(from)
    toggleSelected(next, true)
  }
  focusRow(next)
}

/** True while arrows are free: nothing has the focus that uses them itself. */
const isListActive = (): boolean => {
  const { activeElement } = document
  return (
    activeElement === null ||
    activeElement === document.body ||
    activeElement.matches('h1, main') ||
    activeElement.matches('.inbox-list a, .inbox-list .list')
  )
}

const isOutsideFields = (): boolean => !isField(document.activeElement)

/** The keyboard of the inbox. Single keys act only while no field has the focus. */
export const useInboxKeys = (place: Place): void => {
  const { conversation: uuid } = place
  const onOpen = (act: (uuid: string) => void) => () => {
    const target = uuid || currentRow(place)
    if (target) act(target)
  }
  const write = (target: string, kind: 'message' | 'note') => {
    focusReply(kind)
    if (target !== uuid) place.openConversation(target)
  }
  const list: readonly Shortcut[] = [
    { keys: 'j', text: () => words.keys.next, act: () => move(place, 1) },
    { keys: 'k', text: () => words.keys.previous, act: () => move(place, -1) },
    { keys: 'ArrowDown', text: () => words.keys.next, act: () => move(place, 1), isHidden: true, when: isListActive },
    {
      keys: 'ArrowUp',
      text: () => words.keys.previous,
      act: () => move(place, -1),
      isHidden: true,
      when: isListActive,
    },
    { keys: 'Shift ArrowDown', text: () => words.keys.extend, act: () => move(place, 1, true), when: isListActive },
    {
      keys: 'Shift ArrowUp',
      text: () => words.keys.extend,
      act: () => move(place, -1, true),
      isHidden: true,
      when: isListActive,
    },
    {
      keys: 'ArrowRight',
      text: () => words.keys.open,
      act: () => place.openConversation(currentRow(place)),
      when: isListActive,
    },
    {
      keys: 'ArrowLeft',
      text: () => words.keys.back,
      act: () => place.openConversation(''),
      isHidden: true,
      when: isListActive,
    },
    {
      keys: 'Escape',
      text: () => words.keys.back,
      act: () => {
        if (selection.peek().size > 0) clearSelection()
        else if (uuid) {
          place.openConversation('')
          focusRow(uuid)
        }
      },
    },
    { keys: 'x', text: () => words.keys.select, act: () => toggleSelected(currentRow(place)) },
    { keys: 'Ctrl a', text: () => words.keys.selectAll, act: selectAll, when: isOutsideFields },
    {
      keys: '/',
      text: () => words.keys.search,
      act: () => document.querySelector<HTMLElement>('.inbox-list [data-search]')?.focus(),
    },
    { keys: 'f', text: () => words.keys.filter, act: () => press('filter') },
    { keys: 'v', text: () => words.keys.views, act: () => press('views') },
  ]
  const thread: readonly Shortcut[] = [
    { keys: 'e', text: () => words.keys.close, act: onOpen((target) => void closeAndNext(place, target)) },
    { keys: 'Shift e', text: () => words.keys.reopen, act: onOpen((target) => void reopenConversation(target)) },
    { keys: 's', text: () => words.keys.snooze, act: () => press('snooze') },
    { keys: 'a', text: () => words.keys.assign, act: () => press('assign') },
    {
      keys: 'Shift a',
      text: () => words.keys.toMe,
      act: onOpen((target) => ownUser.peek() && void assignConversation(target, ownUser.peek())),
    },
    { keys: 't', text: () => words.keys.tag, act: () => press('tag') },
    { keys: 'p', text: () => words.keys.priority, act: () => press('more') },
    { keys: 'u', text: () => words.keys.unread, act: onOpen((target) => void markUnread(target)) },
    { keys: 'r', text: () => words.keys.reply, act: onOpen((target) => write(target, 'message')) },
    { keys: 'n', text: () => words.keys.note, act: onOpen((target) => write(target, 'note')) },
    { keys: '[', text: () => words.keys.olderDay, act: () => stepDay(-1) },
    { keys: ']', text: () => words.keys.newerDay, act: () => stepDay(1) },
    {
      keys: 'c',
      text: () => words.keys.call,
      act: onOpen((target) => {
        const number = peekConversation(target)?.number
        if (number) callNumber(number)
      }),
    },
  ]
  useShortcuts([...list, ...thread], [place.view, uuid, JSON.stringify(place.search)])
}

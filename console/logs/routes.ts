import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const logs: Section = {
  name: 'logs',
  title: () => words.sections.logs,
  icon: 'scroll-text',
  key: 'l',
  place: 'account',
  pages: [
    page({
      path: paths.logs,
      title: () => words.pages.logs,
      needs: 'inbox',
      isListed: true,
      load: () => import('./messages.tsx').then(({ MessagesPage }) => MessagesPage),
    }),
    page({
      path: paths.sendings,
      title: () => words.pages.sendings,
      needs: 'inbox',
      isListed: true,
      load: () => import('./sendings.tsx').then(({ SendingsPage }) => SendingsPage),
    }),
    page({
      path: paths.sending,
      title: () => words.pages.sending,
      needs: 'inbox',
      load: () => import('./sending.tsx').then(({ SendingPage }) => SendingPage),
    }),
    page({
      path: paths.message,
      title: () => words.pages.message,
      needs: 'read_only',
      load: () => import('./message.tsx').then(({ MessagePage }) => MessagePage),
    }),
  ],
}

import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const inbox: Section = {
  name: 'inbox',
  title: () => words.sections.inbox,
  icon: 'inbox',
  key: 'i',
  place: 'account',
  pages: [
    page({
      path: paths.inbox,
      title: () => words.pages.inbox,
      needs: 'inbox',
      isListed: true,
      load: () => import('./inbox-page.tsx').then(({ InboxPage }) => InboxPage),
    }),
  ],
}

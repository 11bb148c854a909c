import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const calls: Section = {
  name: 'calls',
  title: () => words.sections.calls,
  icon: 'phone',
  key: 'c',
  place: 'account',
  pages: [
    page({
      path: paths.calls,
      title: () => words.pages.calls,
      needs: 'read_only',
      orNeeds: 'inbox',
      isListed: true,
      load: () => import('./calls.tsx').then(({ CallsPage }) => CallsPage),
    }),
    page({
      path: paths.applications,
      title: () => words.pages.applications,
      needs: 'develop',
      isListed: true,
      load: () => import('./applications.tsx').then(({ ApplicationsPage }) => ApplicationsPage),
    }),
    page({
      path: paths.application,
      title: () => words.pages.application,
      needs: 'develop',
      load: () => import('./application.tsx').then(({ ApplicationPage }) => ApplicationPage),
    }),
    // Behind the pages above: their names would match as a call.
    page({
      path: paths.call,
      title: () => words.pages.call,
      needs: 'read_only',
      orNeeds: 'inbox',
      load: () => import('./call.tsx').then(({ CallPage }) => CallPage),
    }),
  ],
}
